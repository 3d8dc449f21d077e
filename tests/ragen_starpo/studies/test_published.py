"""The published findings are what the published runs give."""

import json
from functools import partial
from pathlib import Path

from ragen_starpo.studies.definition import read_study
from ragen_starpo.studies.pages import write_pages
from ragen_starpo.studies.store import load_finding, load_runs
from ragen_starpo.studies.verdicts import judge

RESULTS = Path(__file__).parents[3] / "docs" / "results"
RUNS = RESULTS / "findings" / "runs"


def test_the_published_runs_give_the_published_findings(tmp_path):
    published = json.loads((RESULTS / "findings.json").read_text())
    findings = []
    for study in (read_study(one["name"]) for one in published["studies"]):
        judgement = judge(study, partial(load_runs, RUNS, study))
        assert not judgement.missing
        findings.append(load_finding(RUNS, study, judgement))
    write_pages(tmp_path, findings)
    for name in ("findings.json", "findings.md"):
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text()
    arms = {study.hash_of(arm) for study, _, _ in findings for arm in study.arms}
    assert arms <= {folder.name for folder in (RUNS / "arms").iterdir()}
