"""Jobs of a study: failures, resumption, locks, and the remaining time."""

import json
from dataclasses import replace

import pytest

from ragen_bench.errors import INTERRUPTED, UserError
from ragen_starpo.commands import Commands, Stage
from ragen_starpo.studies import jobs
from ragen_starpo.studies.jobs import (
    Job,
    RemainingTime,
    count_seeds,
    lock_models,
    lock_study,
    model_name,
    read_recipes,
    run_jobs_in_threads,
    run_name,
)
from ragen_starpo.studies.study import read_study

JOBS = [
    Job(f"runs/arm/seed-{seed}", (Stage("training", "ragen-train", ("studies", str(seed))),), {})
    for seed in range(3)
]


@pytest.fixture
def codes(monkeypatch):
    """The exit codes of the jobs' commands, by seed, and which ones were run."""
    found = {"ran": []}

    def code(self, folder, stage, log):
        seed = stage.arguments[-1]
        found["ran"].append(seed)
        log.write("it broke\n")
        return found.get(seed, 0)

    monkeypatch.setattr(Commands, "_code", code)
    return found


def ignored(job, stage, seconds):
    pass


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_job_that_fails_is_named_and_tried_again(tmp_path, codes, at_once):
    codes["1"] = 7
    ((name, why),) = run_jobs_in_threads(tmp_path, JOBS, at_once, ignored, Commands()).items()
    assert name == "runs/arm/seed-1"
    assert why.startswith("`ragen-train studies 1` failed: it broke (see ")
    failed = tmp_path / "runs/arm/seed-1/failed.txt"
    assert failed.read_text() == f"{why}\n"
    assert sorted(codes["ran"]) == ["0", "1", "2"]
    del codes["1"]
    assert run_jobs_in_threads(tmp_path, JOBS, at_once, ignored, Commands()) == {}
    assert sorted(codes["ran"]) == ["0", "1", "1", "2"]
    assert not failed.exists()


def test_a_torn_line_of_what_is_done_is_done_again(tmp_path, codes):
    run_jobs_in_threads(tmp_path, JOBS[:1], 1, ignored, Commands())
    record = tmp_path / "runs/arm/seed-0/stages.jsonl"
    record.write_text(record.read_text()[:-9])
    run_jobs_in_threads(tmp_path, JOBS[:1], 1, ignored, Commands())
    assert codes["ran"] == ["0", "0"]
    assert json.loads(record.read_text())["stage"] == "training"


def test_an_interruption_is_no_failure(tmp_path, monkeypatch):
    def code(self, folder, stage, log):
        self.stop()
        return INTERRUPTED

    monkeypatch.setattr(Commands, "_code", code)
    with pytest.raises(UserError, match="was interrupted") as error:
        run_jobs_in_threads(tmp_path, JOBS[:1], 1, ignored, Commands())
    assert error.value.exit_code == INTERRUPTED
    assert not (tmp_path / "runs/arm/seed-0/failed.txt").exists()


def test_the_folder_of_somebody_else_is_left_as_it_is(tmp_path, codes):
    folder = tmp_path / "runs/arm/seed-0"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("")
    failed = run_jobs_in_threads(tmp_path, JOBS[:1], 1, ignored, Commands())
    assert "holds other files" in failed["runs/arm/seed-0"]
    assert [file.name for file in folder.iterdir()] == ["thesis.txt"]


def test_a_folder_belongs_to_one_study_and_one_command(tmp_path):
    study = read_study("filter")
    again = lock_study(tmp_path / "out", study, "small")
    with (
        lock_study(tmp_path / "out", study, "small"),
        pytest.raises(UserError, match="is being run by another process"),
    ):
        again.__enter__()
    for other in (
        lock_study(tmp_path / "out", study, "gpu"),
        lock_study(tmp_path / "out", replace(study, question="Why?"), "small"),
    ):
        with pytest.raises(UserError, match="holds another study"):
            other.__enter__()


def test_a_package_with_other_defaults_does_not_go_on_with_a_study(tmp_path, monkeypatch):
    study = read_study("filter")
    with lock_study(tmp_path / "out", study, "small"):
        pass
    changed = {**read_recipes(study, "small"), "filter-25": {}}
    monkeypatch.setattr(jobs, "read_recipes", lambda study, scale: changed)
    with pytest.raises(UserError, match="holds another study, or an older version"):
        lock_study(tmp_path / "out", study, "small").__enter__()


def test_seeds_that_were_begun_are_counted_by_the_highest(tmp_path):
    study = read_study("filter")
    assert count_seeds(tmp_path, study) == 0
    for place in ("filter-25/seed-0", "filter-50/seed-6", "filter-75/seed-x", "other/seed-9"):
        (tmp_path / "runs" / place).mkdir(parents=True)
    assert count_seeds(tmp_path, study) == 7
    (tmp_path / "models/bandit/seed-7").mkdir(parents=True)  # which may have failed
    assert count_seeds(tmp_path, study) == 8


def test_studies_share_their_models_and_not_their_seeds(tmp_path):
    study = read_study("filter")
    shared, folders = tmp_path / "shared", [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        with lock_models(folder, shared):
            (folder / model_name("bandit", 7)).mkdir(parents=True, exist_ok=True)
        assert (folder / "models").resolve() == shared
        assert count_seeds(folder, study) == 0
    (folders[1] / run_name("filter-25", 2)).mkdir(parents=True)
    assert count_seeds(folders[1], study) == 3
    for again in (shared, None):
        with lock_models(folders[1], again):
            assert (folders[1] / "models").resolve() == shared
    with (
        lock_models(folders[0], shared),
        pytest.raises(UserError, match=r"another study makes models in .*/shared; wait for it"),
        lock_models(folders[1], None),
    ):
        pass
    with (
        pytest.raises(UserError, match="b/models exists already, so --models cannot name another"),
        lock_models(folders[1], tmp_path / "other"),
    ):
        pass


def test_a_study_with_models_of_its_own_keeps_them(tmp_path):
    (tmp_path / "models").mkdir()
    with lock_models(tmp_path, None):
        assert not (tmp_path / "models").is_symlink()
    with (
        pytest.raises(UserError, match="exists already"),
        lock_models(tmp_path, tmp_path / "shared"),
    ):
        pass


def test_a_shared_model_of_other_settings_is_left_as_it_is(tmp_path, codes):
    first = Job("models/a/seed-0", (Stage("model", "ragen-train", ("studies", "0")),), {})
    other = Job("models/a/seed-0", (Stage("model", "ragen-train", ("studies", "1")),), {})
    run_jobs_in_threads(tmp_path, [first], 1, ignored, Commands())
    ((_, why),) = run_jobs_in_threads(tmp_path, [other], 1, ignored, Commands()).items()
    assert "holds the results of other commands" in why
    assert not (tmp_path / "models/a/seed-0/failed.txt").exists()


TRAINING, TEST = Stage("training", "ragen-train", ()), Stage("test", "ragen-bench", ())


def test_what_is_left_takes_as_long_as_what_was_done():
    jobs = [Job(str(number), (TRAINING, TEST), {}) for number in range(5)]
    remaining = RemainingTime(jobs, at_once=2)
    assert remaining.seconds() is None
    remaining.finish(TRAINING, 60)
    assert remaining.seconds() is None  # no test was seen yet
    remaining.finish(TEST, 10)
    assert remaining.seconds() == (4 * 60 + 4 * 10) / 2
    remaining.finish(TRAINING, 80)
    assert remaining.seconds() == (3 * 70 + 4 * 10) / 2
    remaining.drop((TRAINING, TEST))
    assert remaining.seconds() == (2 * 70 + 3 * 10) / 2
    for _ in range(2):
        remaining.finish(TRAINING, 0)
    for _ in range(3):
        remaining.finish(TEST, 0)
    assert remaining.seconds() == 0
