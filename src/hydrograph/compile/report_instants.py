"""Reports that form no grid: the instants of a query as ranks, and the ranks at which each element is seen.

Every element enters a window at one instant and leaves it at another (`_sights`). Those instants, and the ones that are
known beforehand, are put in order; a running sum over the reported ones among them gives to each the number of reports
before it (S18). So content change needs no step for each instant, but two joins for each element, whatever its window.
An instant is a time, or with the tuple tick (time, stream, place in the log), as `Moment` orders them.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.compilation import Compilation, ReportSteps
from hydrograph.compile.inputs import AllVisibility, CountUnit, CountVisibility, StreamInput, Timeline, TimeVisibility
from hydrograph.compile.program import Materialize
from hydrograph.compile.scan import chunked
from hydrograph.compile.sql import Sql
from hydrograph.temporal import END_OF_TIME
from hydrograph.windows.report import When
from hydrograph.windows.tick import Moment, Tick

_IN, _OUT = 1, -1
_MOMENT = ("m_t", "m_s", "m_q")
_TRIPLE = ("s_id", "p_id", "o_id")


def find_instants(compilation: Compilation, timeline: Timeline, windows: list[StreamInput]) -> ReportSteps:
    """Add the steps that find the reports of a query over these windows, and when each shows its elements."""
    steps = InstantSteps(compilation, timeline)
    compilation.streams += windows
    visibilities = [steps.visibilities(window) for window in windows]
    marks = steps.marks(windows, visibilities)
    spans = {
        window.name: (steps.spans(visibility, keys, marks), keys)
        for window, (visibility, keys) in zip(windows, visibilities, strict=True)
    }
    instants = steps.instants(marks)
    return ReportSteps(instants, steps.domain(instants), spans)


def _both(one: exp.Query, other: exp.Query) -> exp.Query:
    return exp.union(one, other, distinct=False, copy=False)


class InstantSteps:
    """Steps that find the reports of one timeline."""

    def __init__(self, compilation: Compilation, timeline: Timeline) -> None:
        """Prepare the steps of `timeline`; each method adds steps to `compilation`."""
        self.compilation = compilation
        self.timeline = timeline
        self.is_tuple = timeline.tick is Tick.TUPLE
        self.moment = _MOMENT if self.is_tuple else _MOMENT[:1]
        self.at_close = timeline.policy.when is When.WINDOW_CLOSE

    def keep(self, query: exp.Query, purpose: str) -> str:
        """Add a step that is materialised, and return its name."""
        name = self.compilation.name(purpose)
        self.compilation.steps.append(Materialize(name, query))
        return name

    def visibilities(self, window: StreamInput) -> tuple[str, tuple[str, ...]]:
        """Return the step with the instants at which each element enters and leaves the window, and its key columns.

        An element may occur once for each of its triples; the steps that group remove the repeats.
        """
        match window.visibility:
            case TimeVisibility() as timed:
                return self.time_window_spans(window, timed)
            case CountVisibility() as counted:
                return self.count_window_spans(window, counted)
            case AllVisibility():
                keys = self._keys()
                elements = self._since(window, keys)
                columns = self._ends(self._entry(window), self._border(sql.num(END_OF_TIME)))
                return self.compilation.let(self._with(elements, keys, columns), "seen"), keys
            case None:
                raise AssertionError(window)
            case _:
                assert_never(window.visibility)

    def _keys(self) -> tuple[str, ...]:
        return ("t", "seq") if self.is_tuple else ("t",)

    def _since(self, window: StreamInput, columns: tuple[str, ...]) -> exp.Select:
        """Return columns of the events since t0."""
        query = sql.from_(sql.select(*map(sql.col, columns)), window.name)
        return query.where(sql.at_least(sql.col("t"), sql.num(self.timeline.t0)), copy=False)

    def _elements(self, window: StreamInput, columns: tuple[str, ...]) -> exp.Select:
        """Return the same, each once."""
        return self._since(window, columns).distinct(copy=False)

    @staticmethod
    def _with(elements: exp.Select, keys: tuple[str, ...], columns: list[Sql]) -> exp.Select:
        query = sql.select(*map(sql.col, keys), *columns)
        return query.from_(elements.subquery("e", copy=False), copy=False)

    def _entry(self, window: StreamInput, t: Sql | None = None, seq: Sql | None = None) -> list[Sql]:
        """Return the instant at which an element enters: its own, or one of another time."""
        place = [sql.num(window.stream_rank), seq or sql.col("seq")] if self.is_tuple else []
        return [t or sql.col("t"), *place]

    def _border(self, t: Sql) -> list[Sql]:
        """Return the instant at which something ends or closes at a time, before anything of that time enters."""
        before = Moment.before(0)
        return [t, sql.num(before.stream), sql.num(before.seq)][: len(self.moment)]

    def _whole(self, t: Sql) -> list[Sql]:
        """Return the instant at which all of a time has entered."""
        whole = Moment.whole(0)
        return [t, sql.num(whole.stream), sql.num(whole.seq)][: len(self.moment)]

    def _ends(self, enters: list[Sql], leaves: list[Sql]) -> list[Sql]:
        """Return the columns of the two instants."""
        names = [f"{end}_{column}" for end in ("in", "out") for column in self.moment]
        return [sql.alias(value, name) for value, name in zip((*enters, *leaves), names, strict=True)]

    def time_window_spans(self, window: StreamInput, timed: TimeVisibility) -> tuple[str, tuple[str, ...]]:
        """Time windows, in closed form: by closes (S31), or from entry to the last close (S10)."""
        grid = timed.grid
        keys = ("t",) if self.at_close else self._keys()
        since = sql.subtract(sql.col("t"), sql.num(grid.first_close - timed.delay))
        inside = sql.add(since.copy(), sql.num(grid.width))
        ranks = [
            sql.alias(sql.greatest(sql.num(0), sql.add(sql.floor_divide(value, grid.step), sql.num(1))), name)
            for value, name in ((since, "lo"), (inside, "hi"))
        ]
        ranked = self._with(self._since(window, keys), keys, ranks)

        def close(rank: str) -> Sql:
            return sql.add(sql.num(grid.first_close), sql.multiply(sql.col(rank), sql.num(grid.step)))

        if self.at_close:
            columns = self._ends(self._border(close("lo")), self._border(close("hi")))
        else:
            entry = self._entry(window, sql.add(sql.col("t"), sql.num(timed.delay)))
            columns = self._ends(entry, self._border(sql.subtract(close("hi"), sql.num(grid.step))))
        query = self._with(ranked, keys, columns).where(sql.less(sql.col("lo"), sql.col("hi")), copy=False)
        return self.compilation.let(query, "seen"), keys

    def count_window_spans(self, window: StreamInput, counted: CountVisibility) -> tuple[str, tuple[str, ...]]:
        """Windows that count (S11, A5), from running counts `c` of which `n` are an element's own.

        A window reports where a multiple of the slide is passed; the j-th multiple is passed by one element. An
        element enters at the first report behind it, and leaves at the first at which there are enough newer ones.
        """
        keys = ("t",) if counted.unit is CountUnit.TIMES else ("t", "seq")
        slide = counted.slide if self.at_close else 1
        own = self.keep(self._units(window, counted.unit, keys), "units")
        total = self.keep(
            self._running(own, [*keys, "n"], keys, "n", "c", "t", self._counted_before(window)), "counted"
        )
        before = sql.subtract(sql.col("c"), sql.col("n"))

        def passed(count: Sql) -> Sql:
            return sql.floor_divide(count, slide)

        first, end = sql.add(passed(before), sql.num(1)), sql.add(passed(sql.col("c")), sql.num(1))
        bounds = sql.from_(sql.select(*map(sql.col, keys), sql.alias(first, "first"), sql.alias(end, "behind")), total)
        some = sql.select(*map(sql.col, (*keys, "first", "behind"))).from_(bounds.subquery("b", copy=False), copy=False)
        some = some.where(sql.less(sql.col("first"), sql.col("behind")), copy=False)
        passes = nodes.RankRange(this=sql.col("first"), expression=sql.col("behind"))
        multiples = self.compilation.let(
            sql.select(*map(sql.col, keys), sql.alias(passes, "j")).from_(some.subquery("s", copy=False), copy=False),
            "multiples",
        )
        first_in = sql.add(passed(before.copy()), sql.num(1))
        needed = sql.add(sql.col("c"), sql.num(counted.size))
        if counted.unit is CountUnit.TRIPLES:
            covered = nodes.RankRange(
                this=sql.add(before.copy(), sql.num(1)), expression=sql.add(sql.col("c"), sql.num(1))
            )
            covers = self.compilation.let(
                sql.from_(sql.select(sql.alias(covered, "x"), sql.alias(before.copy(), "y")), total), "covers"
            )
            elements = sql.select(
                *[sql.alias(sql.col(key, "l"), key) for key in keys],
                sql.alias(sql.add(passed(sql.subtract(sql.col("c", "l"), sql.col("n", "l"))), sql.num(1)), "j_in"),
                sql.alias(sql.add(passed(sql.col("y", "r")), sql.num(1)), "j_out"),
            )
            same = sql.equal(sql.col("x", "r"), sql.add(sql.col("c", "l"), sql.num(counted.size)))
            elements = sql.from_(elements, total, "l").join(
                sql.table(covers, "r"), on=same, join_type="left", copy=False
            )
        else:
            first_out = sql.add(passed(sql.subtract(needed, sql.num(1))), sql.num(1))
            elements = sql.from_(
                sql.select(*map(sql.col, keys), sql.alias(first_in, "j_in"), sql.alias(first_out, "j_out")), total
            )
        enters = self._entry(window, sql.col("t", "i"), sql.col("seq", "i"))
        leaves = [
            sql.when((sql.not_null(sql.col("t", "o")), there), otherwise=never)
            for there, never in zip(
                self._entry(window, sql.col("t", "o"), sql.col("seq", "o")),
                self._border(sql.num(END_OF_TIME)),
                strict=True,
            )
        ]
        query = sql.select(*[sql.alias(sql.col(key, "e"), key) for key in keys], *self._ends(enters, leaves))
        query = query.from_(elements.subquery("e", copy=False), copy=False)
        query = query.join(sql.table(multiples, "i"), on=sql.equal(sql.col("j", "i"), sql.col("j_in", "e")), copy=False)
        query = query.join(
            sql.table(multiples, "o"),
            on=sql.equal(sql.col("j", "o"), sql.col("j_out", "e")),
            join_type="left",
            copy=False,
        )
        return self.compilation.let(query, "seen"), keys

    def _units(self, window: StreamInput, unit: CountUnit, keys: tuple[str, ...]) -> exp.Select:
        """Return each element with how many units it counts for."""
        if unit is not CountUnit.TRIPLES:
            one = sql.alias(sql.cast(sql.num(1), "BIGINT"), "n")
            return self._with(self._elements(window, keys), keys, [one])
        triples = self._elements(window, (*keys, *_TRIPLE))
        number = sql.alias(exp.Count(this=exp.Star()), "n")
        return self._with(triples, keys, [number]).group_by(*map(sql.col, keys), copy=False)

    def marks(self, windows: list[StreamInput], visibilities: list[tuple[str, tuple[str, ...]]]) -> str:
        """Return every instant at which something happens: whether it is reported, and how many reports are before."""
        sides: list[exp.Query] = [
            self._happenings(window, visibility) for window, (visibility, _) in zip(windows, visibilities, strict=True)
        ]
        # A close is a border; a period comes after all that enters then.
        known = self._border(sql.col("t")) if self.at_close else self._whole(sql.col("t"))
        given = sql.select(
            *[sql.alias(value, column) for value, column in zip(known, self.moment, strict=True)],
            sql.alias(sql.cast(sql.num(1), "BIGINT"), "w"),
            sql.alias(sql.cast(sql.num(0), "BIGINT"), "d"),
        )
        sides.append(sql.from_(given, self.timeline.closes))
        together = reduce(_both, sides)
        by = [sql.col(name) for name in self.moment]
        total = sql.cast(exp.Sum(this=sql.col("d")), "BIGINT")
        query = sql.select(*by, sql.alias(exp.Max(this=sql.col("w")), "w"), sql.alias(total, "d"))
        query = query.from_(together.subquery("u", copy=False), copy=False).group_by(
            *[c.copy() for c in by], copy=False
        )
        marks = self.keep(query, "marks")
        if self.timeline.policy.non_empty:
            held = self._running(marks, [*self.moment, "w"], self.moment, "d", "held", "m_t")
            some = sql.when(
                (sql.more(sql.col("held"), sql.num(0)), sql.col("w")), otherwise=sql.cast(sql.num(0), "BIGINT")
            )
            query = sql.select(*map(sql.col, self.moment), sql.alias(some, "w"))
            marks = self.keep(query.from_(held.subquery("h", copy=False), copy=False), "marks")
        return self.keep(self._running(marks, [*self.moment, "w"], self.moment, "w", "upto", "m_t"), "ranked")

    def _happenings(self, window: StreamInput, visibility: str) -> exp.Select:
        """Return each entry and each leave of a window, whether it is reported, and by how much the content grows."""
        side = exp.Explode(this=exp.Array(expressions=[sql.num(_IN), sql.num(_OUT)]))
        names = [f"{end}_{column}" for end in ("in", "out") for column in self.moment]
        spread = sql.from_(sql.select(*map(sql.col, names), sql.alias(side, "d")), visibility)
        is_entry = sql.equal(sql.col("d"), sql.num(_IN))
        moments = [
            sql.alias(sql.when((is_entry.copy(), sql.col(f"in_{column}")), otherwise=sql.col(f"out_{column}")), column)
            for column in self.moment
        ]
        policy, timed = self.timeline.policy, isinstance(window.visibility, TimeVisibility)
        entries = policy.when is When.CONTENT_CHANGE or (self.at_close and not timed)
        leaves = policy.when is When.CONTENT_CHANGE and policy.expiry and timed
        events = sql.select(*moments, sql.col("d")).from_(spread.subquery("s", copy=False), copy=False)
        tests: list[Sql] = []
        if not entries or not leaves:
            tests.append(is_entry.copy() if entries else sql.negate(is_entry.copy()) if leaves else sql.FALSE.copy())
        if self.timeline.moving:
            tests.append(sql.more(sql.col("m_t"), sql.parameter("after")))
            tests.append(sql.negate(sql.more(sql.col("m_t"), sql.parameter("until"))))
        if self.timeline.after is not None:
            tests.append(sql.more(sql.col("m_t"), sql.num(self.timeline.after)))
        if self.timeline.until is not None:
            tests.append(sql.negate(sql.more(sql.col("m_t"), sql.num(self.timeline.until))))
        one, none = (sql.cast(sql.num(number), "BIGINT") for number in (1, 0))
        reported = sql.when((sql.all_of(tests), one), otherwise=none) if tests else one
        columns = [sql.col(name) for name in self.moment]
        query = sql.select(*columns, sql.alias(reported, "w"), sql.alias(sql.cast(sql.col("d"), "BIGINT"), "d"))
        return query.from_(events.subquery("x", copy=False), copy=False)

    def _counted_before(self, window: StreamInput) -> Sql | None:
        """Return how many units have left the table that a live query reads; None where it holds all of them."""
        return sql.parameter(f"{window.name}_before") if self.timeline.moving else None

    def _running(
        self,
        source: str,
        columns: list[str],
        order: tuple[str, ...],
        value: str,
        name: str,
        time: str,
        base: Sql | None = None,
    ) -> exp.Select:
        """Return rows with the sum of `value` up to each: within its bucket of time, plus the buckets before."""
        bucket = sql.floor_divide(sql.col(time), self.timeline.bucket)
        wanted = list(dict.fromkeys([*columns, value]))
        rows = sql.from_(sql.select(*map(sql.col, wanted), sql.alias(bucket, "b")), source)
        whole = sql.from_(sql.select(sql.alias(bucket.copy(), "b"), sql.col(value)), source)
        sums = sql.select(sql.col("b"), sql.alias(exp.Sum(this=sql.col(value)), "v"))
        sums = sums.from_(whole.subquery("w", copy=False), copy=False).group_by(sql.col("b"), copy=False)
        upto = sql.window(exp.Sum(this=sql.col("v")), [], [sql.col("b")], running=True)
        starts = sql.select(sql.col("b"), sql.alias(sql.subtract(upto, sql.col("v")), "before"))
        starts = starts.from_(sums.subquery("v", copy=False), copy=False)
        within = sql.window(
            exp.Sum(this=sql.col(value, "l")),
            [sql.col("b", "l")],
            [sql.col(column, "l") for column in order],
            running=True,
        )
        total = sql.cast(sql.add(sql.col("before", "r"), within), "BIGINT")
        if base is not None:
            total = sql.add(total, base)
        query = sql.select(*[sql.alias(sql.col(column, "l"), column) for column in columns], sql.alias(total, name))
        query = query.from_(rows.subquery("l", copy=False), copy=False)
        query = query.join(
            starts.subquery("r", copy=False), on=sql.equal(sql.col("b", "l"), sql.col("b", "r")), copy=False
        )
        return sql.hint(query, "BROADCAST", sql.col("r"))

    def spans(self, visibility: str, keys: tuple[str, ...], marks: str) -> str:
        """Return the ranks `[lo, hi)` at which a window shows each element that is seen at some report."""
        before = [
            sql.alias(sql.subtract(sql.col("upto", side), sql.col("w", side)), bound)
            for side, bound in (("i", "lo"), ("o", "hi"))
        ]
        names = [*keys, *(f"{end}_{column}" for end in ("in", "out") for column in self.moment)]
        once = sql.from_(sql.select(*map(sql.col, names)), visibility).distinct(copy=False)
        query = sql.select(*[sql.alias(sql.col(key, "e"), key) for key in keys], *before)
        query = query.from_(once.subquery("e", copy=False), copy=False)
        for side, end in (("i", "in"), ("o", "out")):
            same = [sql.equal(sql.col(f"{end}_{column}", "e"), sql.col(column, side)) for column in self.moment]
            query = query.join(sql.table(marks, side), on=sql.all_of(same), copy=False)
        stamps = sql.select(*map(sql.col, (*keys, "lo", "hi"))).from_(query.subquery("s", copy=False), copy=False)
        stamps = stamps.where(sql.less(sql.col("lo"), sql.col("hi")), copy=False)
        return self.keep(stamps, "spans") if self.timeline.shared else self.compilation.let(stamps, "spans")

    def instants(self, marks: str) -> str:
        """Return the reports: rank `r`, time `t`, the element `seq` that made it alone, and a name for each."""
        rank = sql.subtract(sql.col("upto"), sql.num(1))
        texts = [sql.cast(sql.col(column), "TEXT") for column in self.moment]
        name = texts[0] if not self.is_tuple else sql.concat(texts[0], sql.text(":"), texts[1], sql.text(":"), texts[2])
        seq = sql.cast(sql.NULL.copy(), "BIGINT")
        if self.is_tuple:
            first, last = Moment.arrival(0, 0, 0), Moment.whole(0)
            alone = [
                sql.at_least(sql.col("m_s"), sql.num(first.stream)),
                sql.less(sql.col("m_s"), sql.num(last.stream)),
            ]
            seq = sql.when((sql.all_of(alone), sql.col("m_q")))
        columns = {"r": rank, "t": sql.col("m_t"), "seq": seq, "name": name}
        query = sql.select(*[sql.alias(value, column) for column, value in columns.items()])
        query = sql.from_(query, marks).where(sql.more(sql.col("w"), sql.num(0)), copy=False)
        return self.compilation.let(query, "instants")

    def domain(self, instants: str) -> str:
        """Return all ranks as one interval, cut into chunks like all others."""
        number = exp.Count(this=exp.Star())
        query = sql.select(sql.alias(sql.cast(sql.num(0), "BIGINT"), "lo"), sql.alias(number, "hi"))
        counted = sql.from_(query, instants)
        some = sql.select(sql.col("lo"), sql.col("hi")).from_(counted.subquery("n", copy=False), copy=False)
        some = some.where(sql.less(sql.col("lo"), sql.col("hi")), copy=False)
        chunking = self.compilation.inputs.chunking
        return self.compilation.let(some if chunking is None else chunked(some, [], chunking), "domain")
