"""The page of the diagnostics tells the defaults that the code has."""

import re
import tomllib
from dataclasses import asdict
from pathlib import Path

from ragen_starpo.recipes.run_sections import MonitorSettings

PAGE = Path(__file__).parents[3] / "docs/diagnostics.md"


def test_the_defaults_of_the_monitor():
    page = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"```toml\n(\[monitor\]\n.*?)```", page, re.DOTALL)
    default = MonitorSettings()
    assert tomllib.loads(table)["monitor"] == asdict(default)
    assert f"has lost {default.fall:.0%} of its peak".replace("%", " %") in page
    assert f"within {default.patience} iterations" in page
    assert f"above {default.gradient:.0f} times its median" in page
