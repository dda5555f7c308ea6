"""The local placement joins in the order the optimizer chose: never two windows by time alone (S19)."""

from __future__ import annotations

import pytest

import hydrograph
from hydrograph.runtime.placement.local import Local, Parameters

STREAM = "http://example.org/s"
QUERY = f"""PREFIX : <http://example.org/>
SELECT ?a ?c FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 5s STEP 1s]
WHERE {{ WINDOW :w {{ {{ ?a :follows ?b }} {{ ?b :posted ?c }} }} ?b :livesIn :city7 }}"""
BY_TIME_ALONE = ("IE_JOIN", "PIECEWISE_MERGE_JOIN", "NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN", "CROSS_PRODUCT")


def test_two_windows_and_static_data_with_one_key_are_joined_by_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("streams")
    stream, static = folder / "s.tnt", folder / "static.nt"
    user, post = "<http://example.org/u{}>", "<http://example.org/post{}>"
    follows, posted, lives = (f"<http://example.org/{name}>" for name in ("follows", "posted", "livesIn"))
    with stream.open("w", encoding="utf-8") as lines:
        for n in range(3_000):
            lines.write(f"{10 * n}\t{user.format(n % 700)} {follows} {user.format(n * 7 % 700)} .\n")
            lines.write(f"{10 * n}\t{user.format(n * 3 % 700)} {posted} {post.format(n)} .\n")
    static.write_text(
        "".join(f"{user.format(n)} {lives} <http://example.org/city{n % 50}> .\n" for n in range(700)), "utf-8"
    )
    plans = []
    query = Local.query

    def explained(self: Local, text: str, parameters: Parameters) -> object:
        if "JOIN" in text:
            plans.append("\n".join(query(self, f"EXPLAIN {text}", parameters).column("explain_value").to_pylist()))
        return query(self, text, parameters)

    monkeypatch.setattr(Local, "query", explained)
    run = hydrograph.query(QUERY).over(streams={STREAM: str(stream)}, static=str(static), placement="local")
    assert sum(len(report.rows) for report in run.reports()) > 0
    assert plans, "expected a query with a join"
    assert not [plan for plan in plans for name in BY_TIME_ALONE if name in plan]
