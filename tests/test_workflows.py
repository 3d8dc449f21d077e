"""What the workflows call is fixed, and only publishing may write."""

import re

import pytest
import yaml

from .links import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {"docs": {"pages", "id-token"}, "release": {"id-token"}}


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
