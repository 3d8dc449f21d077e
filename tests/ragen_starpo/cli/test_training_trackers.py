"""Event files hold what the run's own files hold, also after a power cut."""

import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ragen_starpo.cli.training import EventFiles
from ragen_starpo.local.train import train
from tests.ragen_starpo.local.test_warnings import KilledError, recipe


@pytest.mark.slow
def test_events_are_the_runs_figures(small, tmp_path):
    def told(iteration):
        seconds = {f"seconds/{phase}": taken for phase, taken in iteration.seconds.items()}
        board.write(iteration.number, {**iteration.metrics, **seconds})

    def killed(iteration):
        told(iteration)
        if iteration.number == 2:
            raise KilledError

    settings = {"iterations": 4, "checkpoint_every": 2}
    with pytest.raises(KilledError), EventFiles(tmp_path / "events") as board:
        train(recipe(**settings), small, tmp_path / "run", killed)
    with EventFiles(tmp_path / "events") as board:
        train(recipe(**settings), small, tmp_path / "run", told)
    assert len(list((tmp_path / "events").iterdir())) == 2
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    found = {}
    for name in events.Tags()["scalars"]:
        for event in events.Scalars(name):
            assert (event.step, name) not in found  # what was played again is there once
            found[event.step, name] = event.value
    expected = {}
    for file, before in (("metrics", ""), ("timings", "seconds/")):
        for text in (tmp_path / f"run/{file}.jsonl").read_text().splitlines():
            line = json.loads(text)
            step = line.pop("iteration")
            expected |= {(step, f"{before}{name}"): value for name, value in line.items()}
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_run_that_plays_nothing_writes_nothing(tmp_path):
    with EventFiles(tmp_path / "events"):
        pass
    assert not (tmp_path / "events").exists()
