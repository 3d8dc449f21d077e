"""The outcome of a run that is not finished."""

from ragen_starpo.studies.outcomes import read_outcome
from ragen_starpo.studies.study import read_study


def test_a_run_that_is_not_done_says_why(tmp_path):
    study = read_study("filter")

    def problem():
        return read_outcome(tmp_path, study, "filter-50", 3).problem

    assert problem() == "not finished"
    model = tmp_path / "models/bandit/seed-3"
    model.mkdir(parents=True)
    (model / "failed.txt").write_text("`ragen-train warm-start` failed: no room\n")
    assert problem() == ("models/bandit/seed-3: `ragen-train warm-start` failed: no room")
    folder = tmp_path / "runs/filter-50/seed-3"
    folder.mkdir(parents=True)
    (folder / "failed.txt").write_text("`ragen-train` failed: no memory\n")
    unfinished = read_outcome(tmp_path, study, "filter-50", 3)
    assert (unfinished.folder, unfinished.problem) == (
        "runs/filter-50/seed-3",
        "`ragen-train` failed: no memory",
    )
    assert unfinished.figures == {}
    (folder / "plan.json").write_text('{"commands": ["a", "b"]}')
    (folder / "stages.jsonl").write_text('{"command": "a"}\n')
    assert "no memory" in problem()
    (folder / "stages.jsonl").write_text('{"command": "a"}\n{"command": "b"}\n')
    assert "no memory" in problem()  # of other commands that were to be run since
    (folder / "failed.txt").unlink()
    assert "run is not a training run" in problem()
    (folder / "plan.json").write_text("{")
    assert "plan.json" in problem()
