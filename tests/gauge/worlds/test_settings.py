"""Settings of worlds: from TOML and options, checked once; and the command that asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph.errors import UsageError
from hydrograph_gauge.cli.generate import command
from hydrograph_gauge.worlds.sensors.settings import SensorSettings
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.shop.world import ShopSettings
from hydrograph_gauge.worlds.world import WORLDS, find_world


def test_options_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("static = 3\nrate = 500\ninterval = '2s'\n")
    found = read_settings(ShopSettings, file, {"rate": "1000", "per": "activity"})
    assert (found.static, found.rate, found.interval, found.per, found.seed) == (3, 1000, 2000, "activity", 1024)


@pytest.mark.parametrize(
    ("kind", "given", "complaint"),
    [
        (ShopSettings, {"statics": 1}, "unknown setting 'statics'; known are batch, entities, faithful"),
        (ShopSettings, {"static": "many"}, "static: input should be a valid integer.*got 'many'"),
        (ShopSettings, {"static": 0}, "static: .*greater than or equal to 1, got 0"),
        (ShopSettings, {"per": "day"}, "per: input should be 'triple' or 'activity', got 'day'"),
        (
            SensorSettings,
            {"interval": "1 week"},
            "interval: expected a duration such as 10s, .* got '1 week'",
        ),
        (SensorSettings, {"properties": "Rainfall,Sunshine"}, "properties: expected some of .*, got 'Sunshine'"),
        (SensorSettings, {"min": 5, "max": 5}, "expected min below max, got 5 and 5"),
        (SensorSettings, {"profile": "ramp", "interval": 2}, "expected an interval of at least 4 ms"),
    ],
)
def test_a_wrong_setting_is_refused(
    kind: type[ShopSettings] | type[SensorSettings], given: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_settings(kind, None, given)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("static = \n")
    with pytest.raises(UsageError, match=r"broken\.toml: "):
        read_settings(ShopSettings, file, {})


@pytest.mark.parametrize("name", WORLDS)
def test_each_setting_is_an_option_with_help(name: str) -> None:
    shown = CliRunner().invoke(command, [name, "--help"])
    assert shown.exit_code == 0
    for setting, field in find_world(name).settings.model_fields.items():
        assert f"--{setting.replace('_', '-')}" in shown.output
        assert field.description


def test_an_unknown_world_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a world"):
        find_world("moon")
