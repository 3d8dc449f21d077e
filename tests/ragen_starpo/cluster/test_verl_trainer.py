"""An iteration of verl's trainer, of parts that stand for its engines."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from ragen_bench.errors import UserError
from ragen_starpo import iteration
from ragen_starpo.cluster import train, verl_trainer, vllm_replica, workers
from ragen_starpo.cluster.learner import QueuedRollouts
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.iteration import Clock
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


def test_vllm_stays_awake_while_it_plays_ahead(monkeypatch, tmp_path):
    """Its weights change when no episode runs; verl neither puts it to sleep nor wakes it."""
    cluster = {"engine": "vllm", "device": "gpu", "ahead": 1, "sleep": False}
    settings = {"iterations": 3, "cluster": cluster, "correction": {"level": "token"}}
    recipe = recipe_of({"model": "m", "envs": ["Bandit-v0"], **settings}, "a test")
    rollout = verl_config(recipe, tmp_path, "cuda").actor_rollout_ref.rollout
    assert not rollout.free_cache_engine
    assert not rollout.enable_sleep_mode
    calls = []
    trainer = object.__new__(verl_trainer.VerlTrainer)
    trainer.recipe, trainer._next = recipe, None
    trainer._learner = SimpleNamespace(settings=SimpleNamespace(refills=0))
    # It has no other method.
    trainer.checkpoint_manager = SimpleNamespace(
        update_weights=lambda number: calls.append(f"weights {number}")
    )
    trainer.replay_buffer = SimpleNamespace(
        sample=lambda number, *_: (calls.append(f"end {number}"), {}),
        played=[],
        kept=[],
        error=None,
    )
    monkeypatch.setattr(trainer, "_begin", lambda number: calls.append(f"begin {number}"))
    for number in range(3):
        trainer.play(number, Clock())
        calls.append(f"train {number}")
        trainer.publish_weights(number, Clock(), learned=True)
    assert calls == [
        *("begin 0", "end 0", "begin 1", "train 0", "end 1", "weights 0"),
        *("begin 2", "train 1", "end 2", "weights 1", "train 2", "weights 2"),
    ]


@pytest.mark.parametrize(
    ("cluster", "learned", "sent"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"engine": "vllm", "device": "gpu"}, False, True),
        ({"engine": "vllm", "device": "gpu", "sleep": False}, False, False),
        ({"ahead": 1}, False, True),
    ],
)
def test_weights_are_sent_if_they_changed_or_the_engine_lost_them(cluster, learned, sent):
    settings = {"cluster": cluster, "correction": {"level": "token"}, "iterations": 1}
    trainer = object.__new__(verl_trainer.VerlTrainer)
    trainer.recipe = recipe_of({"model": "m", "envs": ["Bandit-v0"], **settings}, "a test")
    calls, clock = [], Clock()
    trainer.checkpoint_manager = SimpleNamespace(update_weights=calls.append)
    trainer.publish_weights(3, clock, learned=learned)
    assert calls == [3] * sent
    assert set(clock.seconds) == {"weights"}


@pytest.mark.parametrize(("rank", "stored"), [(0, ["a", "b"]), (1, [])])
def test_only_the_process_that_writes_a_model_stores_its_weights(
    monkeypatch, tmp_path, rank, stored
):
    """All gather them, one tensor at a time."""
    gathered, copied, written = [], [], []

    def gather(_module):
        for name in ("a", "b"):
            gathered.append(name)
            yield name, SimpleNamespace(cpu=lambda name=name: copied.append(name))

    monkeypatch.setattr(workers, "merged_weights", gather)
    monkeypatch.setattr(workers, "write_model", lambda _, weights, *__: written.extend(weights))
    monkeypatch.setattr(workers.torch.distributed, "get_rank", lambda: rank)
    monkeypatch.setattr(workers.torch.distributed, "barrier", lambda: None)
    module = SimpleNamespace(config=None)
    worker = SimpleNamespace(_module=module)
    workers.PolicyWorker.save_model(worker, str(tmp_path / "model"), "m")
    assert gathered == ["a", "b"]
    assert copied == written == stored


def test_a_model_that_does_not_fit_starts_no_vllm(monkeypatch):
    def refuse(config):
        raise UserError("the model does not fit")

    config = OmegaConf.create({"transfer_queue": {}})
    launched = []
    monkeypatch.setattr(train, "fit_to_memory", refuse)
    monkeypatch.setattr(vllm_replica, "launch_early", lambda *given: launched.append(given))
    monkeypatch.setattr("transfer_queue.init", lambda settings: None)
    monkeypatch.setattr("transfer_queue.close", lambda: None)
    task = train.Task.__ray_metadata__.modified_class()
    with pytest.raises(UserError, match="does not fit"):
        task.run(config, [])
    assert not launched
