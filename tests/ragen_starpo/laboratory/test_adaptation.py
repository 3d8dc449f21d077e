"""Warnings change the settings of a run of the laboratory as they do in the trainer."""

import numpy as np
import pytest

from ragen_starpo.diagnostics.monitor import AdaptableSettings, Adaptation, EchoTrapMonitor
from ragen_starpo.laboratory import run
from ragen_starpo.laboratory.warm_start import WarmStart
from ragen_starpo.studies.definition import Task
from ragen_starpo.studies.metrics import WATCHED

SETTINGS = [
    "monitor.action=adapt",
    "monitor.warm_up=0",
    "monitor.window=1",
    "monitor.fall=0.01",
    "optimiser.learning_rate=3e-2",
    "updates=3",
    "monitor.refills=2",
]


def test_a_warned_run_alone_has_another_temperature(monkeypatch):
    monkeypatch.setattr(run, "TRAIN", 64)
    monkeypatch.setattr(run, "TEST", 8)
    monkeypatch.setattr(run, "WarmStart", lambda skill: WarmStart(skill, steps=15))
    runs = run.run_arm(
        Task("lake", 3, groups=2, samples=4),
        SETTINGS,
        iterations=8,
        warm_starts=range(3),
        seeds=[0],
        device="cpu",
    )
    recipe = run.read_arm(SETTINGS)
    for place in range(3):
        monitor = EchoTrapMonitor(recipe.monitor)
        adaptation = Adaptation(recipe.monitor, AdaptableSettings.of(recipe))
        for number in range(8):
            line = {
                name: float(runs.curves[curve][place, number]) for name, curve in WATCHED.items()
            }
            for warning in monitor.take({"iteration": number + 1, **line}):
                adaptation.take(warning)
            now = runs.curves["temperature"][place, number]
            assert now == pytest.approx(adaptation.settings.temperature)
    last = runs.curves["temperature"][:, -1]
    assert len(np.unique(last)) > 1
    # After a warning there is one pass over the rollouts, and flat groups are replaced.
    is_warned = runs.curves["temperature"][:, :-1] > 1
    is_replaced = runs.curves["replaced"][:, 1:] > 0
    assert (is_replaced & is_warned).any()
    assert not (is_replaced & ~is_warned).any()
    # The tokens of replaced groups are sampled, and not trained on.
    passes = (runs.curves["trained_tokens"] / runs.curves["rollout_tokens"])[:, 1:]
    assert passes[~is_warned] == pytest.approx(3)
    assert passes[is_warned & ~is_replaced] == pytest.approx(1)
    assert (passes[is_warned & is_replaced] < 1).all()


def test_an_iteration_without_a_step_raises_no_warning(monkeypatch):
    monkeypatch.setattr(run, "TRAIN", 16)
    monkeypatch.setattr(run, "TEST", 8)
    monkeypatch.setattr(run, "WarmStart", lambda skill: WarmStart(skill, steps=1))
    runs = run.run_arm(
        Task("lake", 3, groups=2, samples=4),
        [*SETTINGS, "filter.strategy=top-p", "filter.amount=1.0", "filter.eps=100"],
        iterations=2,
        warm_starts=[0],
        seeds=[0],
        device="cpu",
    )
    assert not runs.curves["kept"].any()
    assert "entropy" not in runs.curves
    assert (runs.curves["temperature"] == 1).all()
