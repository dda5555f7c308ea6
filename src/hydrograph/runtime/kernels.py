"""The fallbacks: functions that SQL of one target or both can't say, each one Arrow kernel under one name.

`explain` names the kernels a program calls. They are the only Python that ever sees rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from hydrograph.rdf.encoding import term_id
from hydrograph.rdf.xsd import double_text


@dataclass(frozen=True, slots=True)
class Kernel:
    """A vectorised function of one column."""

    name: str
    run: Callable[[pa.Array], pa.Array]
    argument: str
    result: str
    """SQL types that both targets know."""


def _term_ids(texts: pa.Array) -> pa.Array:
    return pa.array([None if text is None else term_id(text) for text in texts.to_pylist()], pa.int64())


def _double_texts(values: pa.Array) -> pa.Array:
    return pa.array([None if value is None else double_text(value) for value in values.to_pylist()], pa.string())


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        kernel.name: kernel
        for kernel in (
            Kernel("hydrograph_term_id", _term_ids, "VARCHAR", "BIGINT"),
            Kernel("hydrograph_double_text", _double_texts, "DOUBLE", "VARCHAR"),
        )
    }
)


def called(text: str) -> list[Kernel]:
    """Return the kernels that a SQL text calls."""
    return [kernel for name, kernel in KERNELS.items() if f"{name}(" in text]
