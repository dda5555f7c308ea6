"""A plan in plain words."""

from __future__ import annotations

from hydrograph.algebra.queries import NamedWindow, StreamOperator
from hydrograph.compile.inputs import AllVisibility, CountUnit, CountVisibility, TimeVisibility
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.kernels import called_kernels
from hydrograph.runtime.plan import Plan
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration
from hydrograph.windows.report import Multi, When
from hydrograph.windows.tick import Tick

_OPERATORS = {
    StreamOperator.RSTREAM: "all answers that hold then",
    StreamOperator.ISTREAM: "the answers that did not hold at the report before",
    StreamOperator.DSTREAM: "the answers that held at the report before and no longer do",
}


def windows_in_words(plan: Plan) -> str:
    """Return what the windows hold and when the query reports, with the first reports as an example."""
    lines = []
    for window in plan.query.windows:
        assert window.name is not None
        lines += _window_in_words(plan, window.name, window)
    lines.append(f"{_reports_in_words(plan)} ({plan.profile.name}), and gives {_OPERATORS[plan.operator]}")
    if plan.profile.r2s_set and plan.operator is not StreamOperator.RSTREAM:
        lines.append("  answers are compared as sets: how often one holds does not matter")
    if plan.profile.report.non_empty:
        lines.append("nothing is reported while no window has content")
    lines.append("an empty answer is reported too" if plan.profile.emit_empty else "an empty answer is not reported")
    return "\n".join(lines)


def _window_in_words(plan: Plan, name: Iri, window: NamedWindow) -> list[str]:
    own = "a window that feeds the default graph" if name in plan.feeding else f"window <{name.value}>"
    stream = f"stream <{window.stream.value}>"
    match plan.visibilities[name]:
        case TimeVisibility(_, delay):
            grid = plan.windows[name]
            every = "continuously" if grid.slide is None else f"every {spoken(grid.step)}"
            ago = f", as it was {spoken(delay)} before" if delay else ""
            until = f"until t + {grid.width}" if grid.slide is None else "while open <= t < close"
            lines = [
                f"{own} holds the last {spoken(grid.width)} of {stream}{ago}, {every}: an element at t is in it {until}"
            ]
            if not plan.is_placed:
                return [*lines, "  windows are counted from the first element on"]
            if grid.slide is not None:
                scopes = ", ".join(str(grid.scope(k)) for k in range(3))
                lines.append(f"  windows from t0 = {grid.t0}: {scopes}, … (milliseconds of event time)")
            if grid.width < grid.step:
                gap = spoken(grid.step - grid.width)
                lines.append(f"  between two windows lies a gap of {gap}: nothing there counts")
            return lines
        case CountVisibility(size, slide, unit):
            what = "elements of its newest instant" if unit is CountUnit.TIMES else f"last {size} {unit.value}"
            return [f"{own} holds the {what} of {stream}, every {slide}; an element is never split"]
        case AllVisibility():
            return [f"{own} holds all of {stream} since t0"]


def _reports_in_words(plan: Plan) -> str:
    policy = plan.profile.report
    one = "each element of one time is an instant of its own" if plan.tick is Tick.TUPLE else ""
    match policy.when:
        case When.WINDOW_CLOSE:
            windows = "a window closes" if policy.multi is Multi.ANY else "all windows close"
            return f"reports when {windows}"
        case When.CONTENT_CHANGE:
            ends = " or leaves one" if policy.expiry else ""
            return f"reports when an element enters a window{ends}{'; ' + one if one else ''}"
        case When.PERIODIC:
            return f"reports every {spoken(policy.period or 1)} from t0 on"


def spoken(duration: Duration) -> str:
    """Return a duration in the largest unit that divides it.

    >>> spoken(90_000), spoken(1500), spoken(3_600_000)
    ('90 s', '1500 ms', '1 h')
    """
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")):
        if duration % unit == 0 and duration >= unit and not (unit == MINUTE and duration < 2 * MINUTE):
            return f"{duration // unit} {name}"
    return f"{duration} ms"


def kernels_in_words(text: str) -> str:
    """Return which steps leave SQL for Python."""
    names = [kernel.name for kernel in called_kernels(text)]
    return "\n".join(f"{name}: evaluated in Python, column by column" for name in names) or "none: all of it is SQL"
