"""The parts of a profile as options: when to report, what an instant is, where windows start, what nothing is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from hydrograph.algebra.queries import StreamOperator
from hydrograph.errors import UsageError
from hydrograph.language.duration import parse_duration
from hydrograph.windows.profile import Habits, Origin
from hydrograph.windows.report import Multi, When
from hydrograph.windows.scope import Align
from hydrograph.windows.tick import Tick

Command = Callable[..., None]


def _choice(name: str, kind: type, text: str) -> Any:
    return click.option(name, type=click.Choice([each.value for each in kind]), help=text)  # type: ignore[attr-defined]


_OPTIONS = (
    _choice("--report", When, "When to report; by default as the preset does."),
    click.option("--every", metavar="DURATION", help="Report at this period, such as 5s, counted from t0."),
    click.option("--expiry/--no-expiry", default=None, help="Report content that leaves, not only what enters."),
    click.option("--non-empty/--or-empty", default=None, help="Say nothing while no window has content."),
    _choice("--multi", Multi, "Report where any of several windows closes, or all."),
    _choice("--tick", Tick, "Whether elements of one time enter together or one by one."),
    click.option(
        "--t0", metavar=f"MS|{'|'.join(Origin)}", help="Where the first window opens: a time, or what says it."
    ),
    _choice("--align", Align, "What lies at t0: the first window's opening, or one step before its close."),
    _choice("--r2s", StreamOperator, "The stream operator of a query that names none."),
    click.option("--sets/--bags", "r2s_set", default=None, help="How istream and dstream compare answers."),
    click.option("--empty/--no-empty", "emit_empty", default=None, help="Whether empty answers are reported."),
    click.option("--slide/--no-slide", "keep_slide", default=None, help="Whether windows keep their slide, or glide."),
    click.option("--zero-average/--unbound-average", default=None, help="What AVG of nothing is."),
)


def habit_options(command: Command) -> Command:
    """Add the options; the command gets `habits` and `t0`."""

    @wraps(command)
    def with_habits(**options: Any) -> None:
        t0, origin = _start(options.pop("t0"))
        every = options.pop("every")
        habits = Habits(
            report=_member(When, options.pop("report")),
            every=None if every is None else _duration(every),
            expiry=options.pop("expiry"),
            non_empty=options.pop("non_empty"),
            multi=_member(Multi, options.pop("multi")),
            tick=_member(Tick, options.pop("tick")),
            origin=origin,
            align=_member(Align, options.pop("align")),
            operator=_member(StreamOperator, options.pop("r2s")),
            r2s_set=options.pop("r2s_set"),
            emit_empty=options.pop("emit_empty"),
            keep_slide=options.pop("keep_slide"),
            zero_average=options.pop("zero_average"),
        )
        command(habits=habits, t0=t0, **options)

    for option in reversed(_OPTIONS):
        with_habits = option(with_habits)
    return with_habits


def _member(kind: Any, value: str | None) -> Any:
    return None if value is None else kind(value)


def _start(text: str | None) -> tuple[int | None, Origin | None]:
    if text is None:
        return None, None
    try:
        return int(text), None
    except ValueError:
        pass
    try:
        return None, Origin(text)
    except ValueError:
        known = ", ".join(Origin)
        raise UsageError(f"expected a time in milliseconds or one of {known} for --t0, got {text!r}") from None


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--every: {error}") from None
