"""The store of runs: resumption, sharing, folders of others, and what is written once."""

import os

import numpy as np
import pytest

from ragen_bench.errors import UserError
from ragen_starpo.studies.store import load_runs, needed_memory, open_store, run_study
from tests.ragen_starpo.studies.stand_in import StandIn, claim, make_study


def run(study, folder, run_arm, progress=None):
    with open_store(folder, [study]):
        return run_study(study, folder, run_arm, "cpu", progress or (lambda _: None))


class Stops(StandIn):
    """A laboratory that is interrupted before its third arm."""

    def __call__(self, *arguments, **settings):
        if len(self.calls) == 2:
            raise KeyboardInterrupt
        return super().__call__(*arguments, **settings)


def test_an_interrupted_study_goes_on_with_the_next_arm(tmp_path):
    study = make_study(claim("up"), claim("down"))
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path, Stops())
    resumed = StandIn()
    judgement = run(study, tmp_path, resumed)
    assert len(resumed.calls) == 1
    assert judgement == run(study, tmp_path / "other", StandIn())
    again = StandIn()
    assert run(study, tmp_path, again) == judgement
    assert again.calls == []


def test_runs_of_two_looks_are_those_of_one(tmp_path):
    study = make_study(claim("alike", same=0.01))
    run(study, tmp_path, StandIn())
    both = load_runs(tmp_path, study, "base", 8)
    whole = StandIn()(
        study.task,
        study.settings_of("base"),
        iterations=60,
        warm_starts=range(8),
        seeds=range(8),
        device="cpu",
    )
    assert np.array_equal(both.curves["success"], whole.curves["success"])
    assert (len(both.test), both.seconds, both.gpu_seconds) == (64, 4.0, 6.0)


def test_studies_share_equal_arms(tmp_path):
    first, second = make_study(claim("up")), make_study(claim("down"), name="second")
    run(first, tmp_path, StandIn())
    other = StandIn()
    run(second, tmp_path, other)
    assert [arm for arm, _ in other.calls] == [1]


def test_folders_of_others_are_refused(tmp_path):
    study = make_study(claim())
    run(study, tmp_path / "mine", StandIn())
    changed = make_study(claim(same=4.0))
    with pytest.raises(UserError, match="holds another study mine, or an older version of it"):
        run(changed, tmp_path / "mine", StandIn())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("")
    with pytest.raises(UserError, match="holds files that are not of studies"):
        run(study, tmp_path / "other", StandIn())


def test_a_torn_file_is_named(tmp_path):
    study = make_study(claim())
    run(study, tmp_path, StandIn())
    file = next((tmp_path / "arms").glob("*/*.npz"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(UserError, match=f"{file.name} cannot be read .*; remove it"):
        run(study, tmp_path, StandIn())


@pytest.mark.parametrize("change", ["lacks test", "texts", "one array", "pipe"])
def test_a_file_of_others_is_named(tmp_path, change):
    study = make_study(claim())
    run(study, tmp_path, StandIn())
    file = next((tmp_path / "arms").glob("*/*.npz"))
    arrays = dict(np.load(file))
    file.unlink()
    if change == "pipe":
        os.mkfifo(file)
    elif change == "one array":
        with file.open("wb") as content:
            np.save(content, arrays["test"])
    else:
        texts = {"test": np.array(["a"])} if change == "texts" else {}
        rest = {name: values for name, values in arrays.items() if name != "test"}
        np.savez(file, **rest, **texts)
    with pytest.raises(UserError, match=rf"{file.name} (cannot be read|is not a regular file)"):
        run(study, tmp_path, StandIn())


def test_progress_has_the_rate_and_what_is_left(tmp_path):
    seen = []

    def note(progress):
        seen.append((progress.arm, progress.runs, progress.finished, progress.done, progress.left))
        assert progress.total == 3 * 32 * 60
        assert progress.rate > 0

    run(make_study(claim("up"), claim("down"), looks=(4,)), tmp_path, StandIn(), note)
    assert [one[:4] for one in seen] == [
        (arm, 32, finished, 32 * 60 * (number + 1))
        for number, arm in enumerate(("base", "up", "down"))
        for finished in (False, True)
    ]
    assert seen[0][4] > seen[-1][4] == 0


def test_the_memory_is_that_of_the_largest_look():
    few = make_study(claim())
    many = make_study(claim(metric="collapsed", about_collapse=True))
    assert needed_memory(few) == 32 * (384 << 20)
    assert needed_memory(many) == 64 * (384 << 20)
