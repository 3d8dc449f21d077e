"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy
import pytest
from PIL import Image

from ragen_bench.models import list_providers
from ragen_bench.suites import SUITES
from ragen_envs.registration import IDS

from .links import targets
from .ragen_bench.cli.command import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


HOME = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
EXAMPLES = [
    *re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL),
    *re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", HOME, re.DOTALL),
]


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["gymnasium", "harness", "home"])
def test_a_python_example_prints_what_it_shows(code, shown, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == shown


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in targets(page):
            assert target.exists(), (page, target)


def test_the_readmes_links_work_where_its_folder_is_not():
    assert re.findall(r"\]\((?!https://)", README) == []
    named = set(re.findall(r"\]\[([^]]*)\]", README))
    assert named == set(re.findall(r"^\[(.*)\]: https://", README, re.MULTILINE))


@pytest.mark.slow
def test_the_home_page_shows_the_table_that_its_command_prints(tmp_path):
    [command] = re.findall("^ragen-bench (evaluate .*)$", HOME, re.MULTILINE)
    [table] = re.findall("```text\n( environment .*?)```", HOME, re.DOTALL)
    done = run(*command.split(), cwd=tmp_path)
    found, shown = (
        [re.sub(r"\s+\d+\.\d$", " seconds", line.rstrip()) for line in text.splitlines()]
        for text in (done.stdout, table)
    )
    assert set(shown) <= set(found), done.stdout


def test_the_home_page_shows_the_board_of_its_example():
    env = gymnasium.make("ragen_envs:ragen/Sokoban-v0", split="test", render_mode="rgb_array")
    env.reset(seed=1)
    with Image.open(ROOT / "docs" / "assets" / "sokoban.png") as picture:
        assert (numpy.asarray(picture.convert("RGB")) == env.render()).all()


def test_the_picture_is_small_and_in_the_repository():
    [shown] = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    raw = "https://raw.githubusercontent.com/ragen-bench/ragen-bench/main/"
    picture = (ROOT / shown.removeprefix(raw)).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000


def test_the_docs_name_every_environment_suite_and_model():
    environments = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    harness = (ROOT / "docs" / "harness.md").read_text(encoding="utf-8")
    for env in IDS:
        short = "-" + env.removeprefix("ragen/FrozenLake")
        assert env in environments or short in environments
    for name in [*SUITES, *list_providers()]:
        assert f"`{name}`" in harness
