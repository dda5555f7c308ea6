"""Parameters and kernels of a SQL text are matched by their whole names."""

from __future__ import annotations

from pathlib import Path

import hydrograph
from hydrograph.runtime.kernels import KERNELS, called_kernels
from hydrograph.runtime.placement.local import Local

STREAM = "http://example.org/s"


def test_a_parameter_whose_name_begins_another_is_not_passed() -> None:
    values = {f"c{number}": f"text {number}" for number in range(11)}
    with Local(threads=1) as placed:
        assert placed.query("SELECT $c10 AS x", values).to_pylist() == [{"x": "text 10"}]


def test_a_query_with_eleven_constants(tmp_path: Path) -> None:
    lines = [f"{1000 * number}\t<urn:a{number}> <urn:p> <urn:o{number}> ." for number in range(11)]
    path = tmp_path / "s.tnt"
    path.write_text("\n".join(lines) + "\n")
    constants = " || ".join(f'STR(?o) = CONCAT("urn:", "o{number}")' for number in range(11))
    query = hydrograph.query(
        f"SELECT ?a FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT20S STEP PT20S] "
        f"WHERE {{ WINDOW <urn:w> {{ ?a <urn:p> ?o FILTER({constants}) }} }}"
    )
    with query.over({STREAM: path}, placement="local", t0=0) as run:
        assert [len(report.rows) for report in run.reports()] == [11]


def test_a_kernel_whose_name_ends_another_is_not_called() -> None:
    assert [kernel.name for kernel in called_kernels("SELECT hydrograph_lower(x)")] == ["hydrograph_lower"]
    assert called_kernels("SELECT my_hydrograph_lower(x), hydrograph_lower_case(x)") == []
    assert len(called_kernels(" ".join(f"{name}(x)" for name in KERNELS))) == len(KERNELS)
