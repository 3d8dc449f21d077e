"""What the workflows call is fixed, and only publishing and drawing may write."""

import re
import tomllib

import pytest
import yaml

from .links import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {"draw": {"contents"}, "docs": {"pages", "id-token"}, "release": {"id-token"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_named_by_their_commits_and_rights_are_few(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v\d)", text) == []
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    written = {
        right
        for job in workflow["jobs"].values()
        for right, level in job.get("permissions", {}).items()
        if level == "write"
    }
    assert written == WRITES.get(path.stem, set())


def test_one_run_at_a_time_for_each_pull_request():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        group = workflow["concurrency"]["group"]
        # `github.ref` is the base's branch for an event of the base.
        of_base = "pull_request_target" in path.read_text(encoding="utf-8")
        assert ("github.event.number" if of_base else path.stem) in group


@pytest.mark.parametrize("name", ["entry", "release"])
def test_what_a_workflow_installs_is_locked_by_hash(name):
    text = (ROOT / ".github" / f"{name}-requirements.txt").read_text(encoding="utf-8")
    locked = {}
    for requirement in re.split(r"\n(?=\S)", text.strip())[1:]:
        first, *hashes = requirement.split(" \\\n    ")
        package, version = re.fullmatch(r"([a-z0-9-]+)==(\S+)( ; .+)?", first).groups()[:2]
        assert hashes
        assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", each) for each in hashes)
        locked[package] = version
    pinned = re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert {p: v for p, v in pinned if p in locked} == {
        p: locked[p] for p, _ in pinned if p in locked
    }
    assert "hatchling" in locked
    commands = "".join(file.read_text() for file in (ROOT / ".github").rglob(f"*{name}*.[sy]*"))
    assert "--require-hashes --only-binary :all: -r" in commands
    assert f".github/{name}-requirements.txt" in commands


def test_the_lock_has_all_that_the_verifier_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["bench"]]
    text = (ROOT / ".github" / "entry-requirements.txt").read_text(encoding="utf-8")
    for requirement in wanted:
        name = re.match("[A-Za-z0-9-]+", requirement)[0].lower()
        assert re.search(rf"^{name}==", text, re.M), name
