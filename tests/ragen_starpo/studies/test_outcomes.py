"""The outcomes of runs: those that are not finished, and success on the test split."""

import weakref
from types import SimpleNamespace

from ragen_starpo.studies import outcomes
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


class Played:
    def __init__(self, index, success):
        self.env, self.index, self.success = "ragen/Bandit-v0", index, success


def success_of(monkeypatch, tmp_path, values):
    """Return the test success of episodes, of which no more than the latest may be kept."""
    read = []

    def episodes():
        for index, success in values:
            episode = Played(index, success)
            read.append(weakref.ref(episode))
            yield episode
            del episode
            assert sum(reference() is not None for reference in read) <= 1

    monkeypatch.setattr(outcomes, "read_run", lambda _: SimpleNamespace(episodes=episodes))
    return outcomes._test_success(tmp_path)


def test_success_by_instance_keeps_no_episode(monkeypatch, tmp_path):
    values = [(1, True), (0, False), (1, False), (0, False)]
    assert success_of(monkeypatch, tmp_path, values) == {"ragen/Bandit-v0": [0.0, 0.5]}
    assert success_of(monkeypatch, tmp_path, [(0, True), (1, None)]) == {}
