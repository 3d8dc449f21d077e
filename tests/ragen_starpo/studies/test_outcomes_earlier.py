"""Runs that were played elsewhere, from the studies that are published."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.studies.jobs import run_name
from ragen_starpo.studies.outcomes import EarlierRuns, Outcome, read_earlier_runs
from ragen_starpo.studies.results import make_results
from ragen_starpo.studies.study import read_study

STUDIES = Path("docs/results/studies")
PUBLISHED = STUDIES / "size/study.json"


# Of gradient all runs are of a time when results did not hold success by instance.
@pytest.mark.parametrize(
    ("name", "seeds", "by_instance"), [("size", 10, True), ("gradient", 5, False)]
)
def test_the_published_runs_alone_give_the_published_results(name, seeds, by_instance, tmp_path):
    file, study = STUDIES / name / "study.json", read_study(name)
    earlier = read_earlier_runs(file, study, "small")
    assert earlier.count_seeds(study) == seeds
    assert sum(run.arm == min(study.arms) for run in earlier.outcomes.values()) == seeds
    published = json.loads(file.read_text())
    found = json.loads(json.dumps(make_results(study, "small", seeds, tmp_path, earlier)))
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert found.pop("earlier") == {"runs": seeds * len(study.arms), "sha256": sha256}
    if by_instance:
        del published["earlier"]
    else:
        for run in found["runs"]:
            assert run.pop("by_instance") == {"test": {}, "gains": {}}
    assert found == published


def test_success_by_instance_is_kept(tmp_path):
    study = read_study("transfer")
    envs = ("ragen/Sokoban-v0", "ragen/FrozenLake-v0")

    def played(seed, arm):
        test = {env: [float((seed + at) % 3 == 0) for at in range(4)] for env in envs}
        return Outcome(arm, seed, run_name(arm, seed), "", {}, {}, test, test)

    runs = [played(seed, arm) for arm in study.arms for seed in range(2)]
    first = make_results(
        study, "small", 2, tmp_path, EarlierRuns({run.folder: run for run in runs})
    )
    file = tmp_path / "study.json"
    file.write_text(json.dumps(first))
    earlier = read_earlier_runs(file, study, "small")
    assert list(earlier.outcomes.values()) == runs
    again = make_results(study, "small", 2, tmp_path, earlier)
    assert again["claims"] == first["claims"]
    assert first["claims"][0]["differences"] == [0.5, 0.25]


def test_seeds_that_are_neither_there_nor_here_are_not_finished(tmp_path):
    study = read_study("size")
    earlier = read_earlier_runs(PUBLISHED, replace(study, seeds=9), "small")
    found = make_results(study, "small", 11, tmp_path, earlier)
    assert [run["seed"] for run in found["runs"] if run["problem"]] == [10] * len(study.arms)
    assert {claim["verdict"] for claim in found["claims"]} == {None}


def test_what_cannot_be_used_says_why(tmp_path):
    study = read_study("size")
    with pytest.raises(UserError, match="of another study"):
        read_earlier_runs(PUBLISHED, read_study("gradient"), "small")
    with pytest.raises(UserError, match="of another study"):
        read_earlier_runs(PUBLISHED, study, "gpu")
    transfer = Path("docs/results/studies/transfer/study.json")
    with pytest.raises(UserError, match="has no success by instance, which transfer tests"):
        read_earlier_runs(transfer, read_study("transfer"), "small")
    file = tmp_path / "study"
    for content, why in {
        "[]": "is not a JSON object; name the study.json",
        "{": "is not a JSON object; name the study.json",
        "{}": "is not the result of a study; name the study.json",
        '{"schema": 1, "study": 1, "scale": "small", "runs": [], "arms": []}': (
            "is not the result of a study; name the study.json"
        ),
    }.items():
        file.write_text(content)
        with pytest.raises(UserError, match=re.escape(why)):
            read_earlier_runs(file, study, "small")
    with pytest.raises(UserError, match="nowhere cannot be read: No such file"):
        read_earlier_runs(tmp_path / "nowhere", study, "small")


def test_a_run_without_its_figures_is_refused(tmp_path):
    content = json.loads(PUBLISHED.read_text())
    del content["runs"][3]["figures"]
    file = tmp_path / "study.json"
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match="is not the result of a study"):
        read_earlier_runs(file, read_study("size"), "small")
