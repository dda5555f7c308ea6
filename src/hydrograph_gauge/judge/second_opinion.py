"""Second opinion on wrong windows: if rdflib agrees with the engine, the oracle is wrong.

rdflib is slow, so it evaluates only small windows, a few of each query, for a limited time. It is not asked again once
it has found the engine wrong several times and never right.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

from hydrograph.errors import RunError
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport
from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle.dataset import terms_of
from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict

ORACLE_ERROR = "oracle error"
"""The verdict on a query whose differences are all the oracle's own."""

TRIPLES = 500
"""Content and static data of a window that is asked about, each."""

_WINDOWS = 20
_SECONDS = 10.0
_AGAINST = 3
"""Windows after which an engine that was wrong in all of them is taken to be wrong."""


class SecondOpinion:
    """Opinions of rdflib on the windows of one query."""

    def __init__(self, evidence: Callable[[], Evidence | None], static: int) -> None:
        """Take the evidence, which is asked for if need be, and the size of the static data."""
        self._evidence = evidence
        self._static = static
        self._spent = 0.0
        self._absent = ""
        self._failed = ""
        self.said: Counter[ArbiterVerdict] = Counter()

    def of(self, due: ExpectedReport, said: EngineAnswer, before: ExpectedReport | None) -> ArbiterVerdict | None:
        """Return which side is right about a wrong answer; None if rdflib is not asked."""
        if self._absent or self._static > TRIPLES or due.content is None or due.content > TRIPLES:
            return None
        against = self.said.total() == self.said[ArbiterVerdict.ENGINE_ERROR] >= _AGAINST
        if against or self.said.total() >= _WINDOWS or self._spent > _SECONDS:
            return None
        if (evidence := self._evidence()) is None:
            return None
        begin = time.monotonic()
        try:
            second = evidence.second(due.t, None if before is None else before.t, arbiter.answer)
            found = arbiter.decide(terms_of(due.rows), second, terms_of(said.rows))
        except RunError as error:
            self._absent = str(error)
            return None
        except Exception as error:  # noqa: BLE001 - rdflib has errors of its own, of any kind
            found, self._failed = ArbiterVerdict.UNDECIDED, f"{type(error).__name__}: {error}".splitlines()[0][:200]
        self._spent += time.monotonic() - begin
        self.said[found] += 1
        return found

    def notes(self) -> Iterator[str]:
        """Yield notes on windows that are not clearly the engine's fault."""
        if self._absent:
            yield f"no second opinion on wrong windows: {self._absent}"
        if self._failed:
            yield f"rdflib could not evaluate some wrong windows; last error: {self._failed}"
        for verdict in (ArbiterVerdict.ORACLE_ERROR, ArbiterVerdict.UNDECIDED):
            if self.said[verdict]:
                yield f"{self.said[verdict]} of {self.said.total()} windows that rdflib was asked about: {verdict}"
