"""The files for coding agents: AGENTS.md, the skills, and the site's llms.txt."""

import re
import subprocess
import sys
import textwrap

import pytest
import yaml

from .links import PROJECT, ROOT, targets

SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))
HOME = PROJECT["urls"]["Documentation"]


def nav_pages(entries):
    """Yield the pages of the site's navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from nav_pages(below if isinstance(below, list) else [below])


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_has_a_name_a_description_and_running_examples(skill, tmp_path):
    head, body = skill.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n", 1)
    fields = yaml.safe_load(head)
    assert fields.keys() == {"name", "description"}
    assert fields["name"] == skill.parent.name
    assert 20 < len(fields["description"]) <= 1024
    examples = re.findall(r"^ *```python\n(.*?)^ *```", body, re.DOTALL | re.MULTILINE)
    assert examples
    for example in examples:
        code = textwrap.dedent(example)
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    for path in re.findall(r"`((?:docs|examples|ragen_envs)/[\w./-]+)`", body):
        assert (ROOT / path).exists(), path


def test_agents_md_links_and_paths_exist():
    page = ROOT / "AGENTS.md"
    assert {skill for skill in targets(page) if skill.name == "SKILL.md"} == set(SKILLS)
    assert all(target.exists() for target in targets(page))
    paths = re.findall(r"^\| `([\w/.]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(paths) > 5
    assert all((ROOT / path).exists() for path in paths)


def test_every_make_target_of_agents_md_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for goal in re.findall(r"`make ([\w-]+)`", (ROOT / "AGENTS.md").read_text(encoding="utf-8")):
        assert re.search(rf"^{goal}:", makefile, re.MULTILINE), goal


def test_llms_txt_lists_every_page_but_results_games_and_the_reference():
    text = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# ragen\n\n> ")
    listed = {link.rstrip("/") for link in re.findall(rf"\({HOME}([^)]*)\)", text)}
    config = re.sub(r"!!?\w+\S*", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = set(nav_pages(yaml.safe_load(config)["nav"])) - {"index.md"}
    skipped = re.compile(r"(results|games|api)/|mutations")
    assert listed == {page.removesuffix(".md") for page in pages if not skipped.match(page)}


def test_the_files_on_the_three_paths_through_the_code_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", text.partition("## Map")[2], re.MULTILINE)
    files = re.findall(r"`([a-z]+/\w+\.py)`", "".join(steps))
    packages = (ROOT / "ragen_envs", ROOT / "ragen_bench", ROOT / "trainers/ragen_starpo")
    assert len(files) > 15
    assert [
        file for file in files if not any((package / file).exists() for package in packages)
    ] == []
