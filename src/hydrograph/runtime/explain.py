"""A plan in plain words."""

from __future__ import annotations

from hydrograph.runtime.kernels import called
from hydrograph.runtime.plan import Plan
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration


def windows_in_words(plan: Plan) -> str:
    """Return what the windows hold and when the query reports, with the first reports as an example."""
    lines = []
    for window in plan.query.windows:
        assert window.name is not None
        grid = plan.windows[window.name]
        lines.append(
            f"window <{window.name.value}> holds the last {spoken(grid.width)} of stream <{window.stream.value}>, "
            f"every {spoken(grid.step)}: an element at t is in it while open <= t < close"
        )
        scopes = ", ".join(str(grid.scope(k)) for k in range(3))
        lines.append(f"  windows from t0 = {grid.t0}: {scopes}, … (milliseconds of event time)")
        if grid.width < grid.step:
            lines.append(f"  between two windows lies a gap of {spoken(grid.step - grid.width)}: nothing there counts")
    words = {
        "rstream": "all answers that hold then",
        "istream": "the answers that did not hold at the report before",
        "dstream": "the answers that held at the report before and no longer do",
    }
    lines.append(f"reports when a window closes ({plan.profile.name}), and gives {words[plan.operator.value]}")
    lines.append("an empty answer is reported too" if plan.profile.emit_empty else "an empty answer is not reported")
    return "\n".join(lines)


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
    names = [kernel.name for kernel in called(text)]
    return "\n".join(f"{name}: evaluated in Python, column by column" for name in names) or "none: all of it is SQL"
