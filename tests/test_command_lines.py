"""Every command line of the docs' code blocks is one that its program takes."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from ragen_bench.cli.main import parser as bench_parser
from ragen_envs.cli.main import parser as envs_parser
from ragen_starpo.cli.main import parser as train_parser

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "leaderboard", "skills")
PAGES = [ROOT / "README.md", *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))]
BLOCK = re.compile(r"^ *```\w*(?: title=.*?)?\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^ *(?:\w*\$ +)?(?:\w+=\S+ +)*(ragen-(?:bench|envs|train) .*)", re.MULTILINE)
PARSERS = {
    "ragen-bench": cache(bench_parser),
    "ragen-envs": cache(envs_parser),
    "ragen-train": cache(train_parser),
}


def command_lines(page):
    """Return the command lines of a page's code blocks, without those with [options]."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = LINE.findall("".join(BLOCK.findall(text)))
    return [" ".join(line.split()) for line in lines if "[" not in line]


def parsed(line):
    program, *words = shlex.split(line.partition(" > ")[0], comments=True)
    parser = PARSERS[program]()
    return parser.parse_args(words) if program == "ragen-envs" else parser.parse(words)


LINES = [
    pytest.param(line, id=f"{page.relative_to(ROOT)}: {line[:60]}")
    for page in sorted(PAGES)
    for line in command_lines(page)
]


@pytest.mark.parametrize("line", LINES)
def test_the_command_line_is_taken(line):
    parsed(line)


def test_the_pages_have_command_lines():
    assert len(LINES) > 60
    for name in ("cluster", "training", "recipes"):
        assert any("ragen-train" in line for line in command_lines(ROOT / f"docs/{name}.md")), name


def test_settings_behind_options_are_settings():
    first, *_ = [line for line in command_lines(ROOT / "docs/cluster.md") if "processes=2" in line]
    assert first.index("--out") < first.index("cluster.processes=2")
    command = parsed(first)
    assert (command.settings, command.out) == (("cluster.processes=2",), Path("run"))
