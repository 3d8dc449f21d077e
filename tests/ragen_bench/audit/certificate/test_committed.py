"""The certificates in the docs are whole, of the environments as they are, and their page's."""

import json
from collections import Counter
from pathlib import Path

import pytest

from ragen_bench.audit.certificate import EPISODES, QUESTIONS
from ragen_bench.runs.specification import spec_hash
from ragen_envs import IDS

FOLDER = Path(__file__).parents[4] / "docs" / "results" / "certificates"
NAMES = [env.removeprefix("ragen/") for env in IDS]
_UNREACHED = ["static.dependency_pinning", "statistical.reward_reachability"]
FAILS = {
    "secretary": [],
    "CubeHard-v0": _UNREACHED,
    "Desk-v0": _UNREACHED,
    "DeskShifting-v0": _UNREACHED,
    "DeskHostile-v0": _UNREACHED,
}
"""Of the others dependency_pinning alone, as the page says."""


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def row_of(content):
    """Return a certificate's row of the page's tables."""
    panel = content["panel"]
    low, high = panel["floor"]["interval"]
    sides = [[row for row in panel["players"] if row["plays"] is plays] for plays in (False, True)]
    idle, mindless = (max(side, key=lambda row: row["score"]) for side in sides)
    above = ", ".join(row["player"] for row in panel["players"] if row["above"])
    counts = Counter(answer["status"] for answer in content["answers"])
    cells = [
        f"{panel['floor']['score']:.4f} [{low:.4f}, {high:.4f}]",
        "-" if panel["ceiling"] is None else f"{panel['ceiling']:.3f}",
        f"{idle['score']:.4f}",
        f"{mindless['player']} {mindless['score']:.4f}",
        above or "-",
        *(str(counts[status]) for status in ("passed", "failed", "exempt", "not asked")),
    ]
    return " | ".join(cells)


def test_there_is_one_of_every_environment():
    assert {path.stem for path in FOLDER.glob("*.json")} == {*NAMES, "secretary"}


@pytest.mark.parametrize("name", [*NAMES, "secretary"])
def test_it_is_whole_and_stands_on_the_page(name):
    content = read(name)
    assert content["panel"]["episodes"] == EPISODES
    assert [answer["id"] for answer in content["answers"]] == list(QUESTIONS)
    assert not any(row["above"] or row["raised"] for row in content["panel"]["players"][:5])
    failed = [answer["id"] for answer in content["answers"] if answer["status"] == "failed"]
    assert failed == FAILS.get(name, ["static.dependency_pinning"])
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {row_of(content)} |\n" in page


@pytest.mark.parametrize("name", ["Bandit-v0", "Sokoban-v0"])
def test_it_is_of_the_environment_as_it_is(name):
    assert read(name)["specification"] == spec_hash(f"ragen/{name}", "train", "think")
