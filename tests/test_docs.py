"""The docs' pages say what the code says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from docs import build_algorithms, build_commands, build_costs
from docs.build_games import pages, tables
from ragen_bench.cli.main import COMMANDS as BENCH
from ragen_bench.suites import SUITES
from ragen_envs.core.sealed import key_hash
from ragen_envs.registration import IDS
from ragen_starpo.algorithms.registry import ESTIMATORS, FILTERS, LOSSES
from ragen_starpo.cli.main import COMMANDS as TRAIN
from ragen_starpo.recipes.files import sweeps

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parent.parent / "docs"
PAGES_OF_EXAMPLES = ("splits", "environments", "reference/environments", "arrays")


@pytest.mark.xdist_group("baselines")
def test_the_games_pages_are_those_of_the_docstrings():
    written = dict(pages())
    assert set(written) == set((DOCS / "games").iterdir())
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"run docs/build_games.py: {path.name}"
    for id_ in IDS:
        assert sum(f"`{id_}` |" in text for text in written.values()) == 1


def test_the_tables_of_games_are_up_to_date():
    for path, text in tables():
        assert path.read_text(encoding="utf-8") == text, f"run docs/build_games.py: {path.name}"


@pytest.mark.parametrize("id_", IDS)
def test_the_reference_has_each_key_of_info(id_):
    env = gymnasium.make(id_, split="val").unwrapped
    _, info = env.reset(seed=0)
    kept = env.compute_oracle_info(env.instance).keys() | env.compute_extra_info().keys()
    assert kept <= info.keys()
    text = (DOCS / "reference" / "environments.md").read_text(encoding="utf-8")
    table = text.partition("## `info`")[2].partition("After `reset`")[0]
    assert info.keys() <= set(re.findall("`([a-z_]+)`", table))


def test_the_tables_of_algorithms_are_up_to_date():
    text = build_algorithms.PAGE.read_text(encoding="utf-8")
    assert text == build_algorithms.build_page(), "run python -m docs.build_algorithms"
    for names in (ESTIMATORS.names(), LOSSES.names(), FILTERS.names(), sweeps()["preset"]["rows"]):
        assert all(text.count(f"\n| `{name}` |") >= 1 for name in names)


def test_the_reference_of_commands_is_up_to_date():
    text = build_commands.PAGE.read_text(encoding="utf-8")
    assert text == build_commands.build_page(), "run python -m docs.build_commands"


def test_the_tables_of_costs_are_up_to_date():
    text = build_costs.PAGE.read_text(encoding="utf-8")
    assert text == build_costs.build_page(), "run python -m docs.build_costs"
    counted = json.loads(build_costs.COUNTS.read_text(encoding="utf-8"))
    assert counted["random_quick_test"] == build_costs.count(
        build_costs.ENTRIES / "random_quick_test"
    )
    for name, suite in SUITES.items():
        for player in build_costs.PLAYERS:
            episodes = counted[f"{player}_{name}_test"]["episodes"]
            assert episodes == sum(suite.instances.values()), f"count {name} again"


def code_blocks():
    games = sorted((DOCS / "games").iterdir())  # not `pages()`, which plays them all
    named = (DOCS / f"{page}.md" for page in PAGES_OF_EXAMPLES)
    for page in (*named, *games):
        text = page.read_text(encoding="utf-8")
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
            yield pytest.param(code, id=f"{page.relative_to(DOCS)}-{number}")


@pytest.mark.parametrize("code", list(code_blocks()))
def test_the_examples_run(code, tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAGEN_SEALED")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_stated_hash_is_the_one_computed():
    import hashlib

    prefix = re.search(
        r"over the (\d+) bytes `(.*?)` and a zero byte", (DOCS / "splits.md").read_text()
    )
    stated = prefix[2].encode() + b"\0"
    assert len(stated) == int(prefix[1])
    key = "5" * 64
    assert hashlib.sha256(stated + key.encode()).hexdigest() == key_hash(key)


def test_every_command_is_in_the_docs():
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    for program, commands in (("ragen-bench", BENCH), ("ragen-train", TRAIN)):
        for command in commands:
            assert f"{program} {command}" in text, command
