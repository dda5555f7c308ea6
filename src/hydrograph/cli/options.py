"""Options of the command line that are made from settings."""

from __future__ import annotations

from typing import get_args

import click
from pydantic.fields import FieldInfo


def setting_option(name: str, field: FieldInfo) -> click.Option:
    """Return the option of a setting; its value is checked by the settings themselves, not here."""
    words = f"--{name.replace('_', '-')}"
    shown = field.get_default(call_default_factory=True)
    several = isinstance(shown, dict | tuple | list)
    default = "" if several or shown is None or isinstance(shown, bool) else f" [default: {shown}]"
    text = f"{field.description or ''}{default}"
    if isinstance(shown, bool):
        return click.Option([f"{words}/--no-{name.replace('_', '-')}"], default=None, help=text)
    choices = [str(choice) for choice in get_args(field.annotation) if isinstance(choice, str)]
    metavar = "|".join(choices) if choices else "NAME=VALUE" if isinstance(shown, dict) else "VALUE"
    return click.Option([words], multiple=several, metavar=metavar, help=text)
