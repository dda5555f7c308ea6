# Everything a newcomer types. Each target first sets up what it needs; `make help` lists them.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
LOCK_ENV := build/lock
LOCKER := uv==0.13.7
COMPILE = $(LOCK_ENV)/bin/uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command "make lock" $(UPGRADE)

# The Python to build the environment with: `make setup PYTHON=/path/to/python3.12` chooses another one.
PYTHON ?= $(shell for name in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)

# Another Spark or another Python on the search path would shadow the locked versions.
unexport PYTHONHOME PYTHONPATH SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYSPARK_SUBMIT_ARGS
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-slow-spark test-nightly test-faults test-gauge bench-live bench-load check metrics format lock bench-replay bench-papers bench-engines check-worlds conformance dialects clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make the environment: locked packages, this package, a Java where the system has none

# The stamp is taken away before the first change and put back after the last one. An install that was interrupted
# therefore leaves none, and the next one starts from an empty environment.
$(READY): pyproject.toml requirements.lock requirements-java.lock
	@test -n "$(PYTHON)" || { \
		echo "no Python 3.11 or newer found: install one, or say make PYTHON=/path/to/python setup" >&2; exit 1; }
	@if test -e $@ && $(BIN)/python -m pip --version >/dev/null 2>&1; then rm $@; else \
		echo "making $(VENV) with $$($(PYTHON) --version)"; \
		$(PYTHON) -m venv --clear $(VENV) || { \
			echo "$(PYTHON) cannot make a virtual environment: install its venv module" \
				"(Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }; fi
	@echo "installing the locked packages; the first time this takes some minutes, most of them for Spark (460 MB)"
	@$(BIN)/python -m pip install --quiet --use-pep517 --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --editable .
	@$(BIN)/python -c 'from hydrograph.runtime.java import find_java; find_java()' 2>/dev/null || { \
		echo "no Java 17 or newer found: installing one into $(VENV)"; \
		$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-java.lock; }
	@touch $@

demo: $(READY) ## play a small social network into three engines, judge them, write report.html
	@$(BIN)/hydrograph demo

# Tests without Spark run in parallel, those with it in one process beside them: while Spark plans, a core is free.
# The output of those with Spark follows that of the others.
test: $(READY) ## run all tests but the slow ones: those without Spark in parallel, beside them those with it in one process
	@start=$$(date +%s); output=$$(mktemp); \
	$(BIN)/python -m pytest -q -m "spark and not slow" tests >$$output 2>&1 & spark=$$!; \
	trap 'kill $$spark; rm -f $$output; exit 1' INT TERM; \
	$(BIN)/python -m pytest -q -m "not spark and not slow" -n logical --maxprocesses 8 --dist worksteal; pure=$$?; \
	wait $$spark; failed=$$?; cat $$output; rm -f $$output; \
	echo "make $@: $$(($$(date +%s) - start)) s in all"; \
	test $$pure -eq 0 && test $$failed -eq 0

test-slow: $(READY) ## run the long suites without Spark that `make test` leaves out
	@start=$$(date +%s); \
	$(BIN)/python -m pytest -q -m "not spark and slow" -n logical --maxprocesses 8 --dist worksteal tests; failed=$$?; \
	echo "make $@: $$(($$(date +%s) - start)) s in all"; exit $$failed

test-slow-spark: $(READY) ## run the long suites with Spark; they take more than an hour on two cores
	$(BIN)/python -m pytest -q -m "spark and slow" --durations=30 tests

test-nightly: $(READY) ## put 50,000 random queries of all operators to the oracle; CASES=NUMBER sets another number
	HYDROGRAPH_CASES=$(or $(CASES),50000) HYDROGRAPH_LAWS=$(or $(LAWS),10000) HYDROGRAPH_REPORT_CASES=10000 HYDROGRAPH_ALL_SEEDS=1 \
		$(BIN)/python -m pytest -q -m "not spark" -n logical --maxprocesses 8 tests/engine/compile/test_random_queries.py \
		tests/engine/properties tests/engine/live/evaluate/test_live_equals_replay.py

test-faults: $(READY) ## kill live queries at every point of a batch, fill disks, cut lines, tear files; KILLS=NUMBER at each point
	@$(BIN)/python -m pytest -q tests/engine/live/checkpoint/test_recovery.py tests/engine/live/checkpoint/test_snapshot_log.py
	@$(BIN)/python -m tests.support.faults --kills $(or $(KILLS),10)

test-gauge: $(READY) ## plant faults in a right engine and let the gauge name them, and 200 honest runs; SEED=NUMBER, FAULTS=NUMBER, RUNS=NUMBER
	@$(BIN)/python -m tests.support.planted_faults --seed $(or $(SEED),1) --faults $(or $(FAULTS),20) --honest $(or $(RUNS),200)

bench-live: $(READY) ## measure latency and the rate that live queries hold; SECONDS=NUMBER of each run
	@$(BIN)/python -m hydrograph_gauge.measure.live_latency --seconds $(or $(SECONDS),60)

bench-load: $(READY) ## put four live queries under load and judge every answer; SECONDS=NUMBER, PLACEMENT=local|spark
	@$(BIN)/python -m hydrograph_gauge.measure.sustained_load --seconds $(or $(SECONDS),1800) --placement $(or $(PLACEMENT),local)

check: $(READY) ## formatting, lint, types, the direction of imports and the vocabulary
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_vocabulary.py

metrics: $(READY) ## count modules, lines, single importers, and list the modules on the path of an event
	@$(BIN)/python -m tests.support.code_metrics

format: $(READY) ## format the code and repair what the linter can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Keeps the versions that still fit; `make lock UPGRADE=--upgrade` takes the newest ones.
lock: ## resolve the dependencies again and write the lock files
	@test -x $(LOCK_ENV)/bin/uv || { \
		$(PYTHON) -m venv --clear $(LOCK_ENV) && $(LOCK_ENV)/bin/python -m pip install --quiet $(LOCKER); }
	$(COMPILE) pyproject.toml --group dev --output-file requirements.lock
	$(COMPILE) --group java --output-file requirements-java.lock

bench-replay: $(READY) ## measure how fast recorded streams are answered
	@$(BIN)/python -m hydrograph_gauge.measure.replay_speed

bench-papers: $(READY) ## judge every window of every workload of the papers on Hydrograph
	@$(BIN)/python -m hydrograph_gauge.experiments $(if $(PAPERS),$(PAPERS),papers)

bench-engines: $(READY) ## put every engine that is here through the papers' experiments, beside the papers' verdicts; CSPARQL_JARS, CQELS_JARS, CSRBENCH_GRAPHS=DIR
	@$(BIN)/python -m hydrograph_gauge.experiments.compare_engines $(foreach engine,$(ENGINES),--engine $(engine))

check-worlds: $(READY) ## check the generated worlds: sizes, published figures, partition counts, speed, memory
	@$(BIN)/python -m tests.support.world_checks

conformance: $(READY) ## run the W3C query tests in both placements; W3C=PATH is their folder
	@test -n "$(W3C)" || { \
		echo "make conformance needs the W3C's tests: git clone https://github.com/w3c/rdf-tests" \
			"and say make conformance W3C=rdf-tests/sparql" >&2; exit 1; }
	@$(BIN)/python -m tests.support.conformance "$(W3C)"

dialects: $(READY) ## write docs/dialects.md again after a change of a dialect
	$(BIN)/python -m hydrograph.language.dialect_table > docs/dialects.md

clean: ## remove the environment, caches and whatever was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
