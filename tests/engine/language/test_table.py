from __future__ import annotations

from pathlib import Path

from hydrograph.language import DIALECTS
from hydrograph.language.dialect_table import document
from hydrograph.windows.profile import PRESETS

PAGE = Path(__file__).parents[3] / "docs" / "dialects.md"


def test_the_page_about_dialects_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), "run make dialects"


def test_each_dialect_names_a_preset() -> None:
    assert {dialect.preset for dialect in DIALECTS.values()} <= set(PRESETS)
    assert all(dialect.name == name for name, dialect in DIALECTS.items())
