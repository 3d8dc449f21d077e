"""An iteration of verl's trainer, of parts that stand for its engines."""

from types import SimpleNamespace

import pytest

from ragen_starpo import iteration
from ragen_starpo.cluster import verl_trainer
from ragen_starpo.cluster.learner import QueuedRollouts
from ragen_starpo.recipes.recipe import recipe_of


@pytest.mark.parametrize(("ahead", "phase"), [(0, "rollouts"), (1, "waiting")])
def test_one_ahead_the_wait_is_not_timed_as_rollouts(monkeypatch, ahead, phase):
    """Or tokens a second would be those of the wait."""
    settings = {"cluster": {"ahead": ahead}, "correction": {"level": "token"}}
    trainer = object.__new__(verl_trainer.VerlTrainer)
    trainer.recipe = recipe_of({"model": "m", "envs": ["Bandit-v0"], **settings}, "a test")
    trainer.checkpoint_manager = SimpleNamespace(update_weights=lambda _: None)
    trainer._next = None
    trainer._learner = SimpleNamespace(settings=None)
    played = QueuedRollouts([SimpleNamespace(record=None)], [], None, None)
    monkeypatch.setattr(trainer, "_begin", lambda _: None)
    monkeypatch.setattr(trainer, "_end", lambda _: played)
    monkeypatch.setattr(iteration, "iteration_metrics", lambda *_: {})
    for number in (0, 1):
        assert trainer.iterate(number).seconds.keys() == {phase, "weights"}
