"""An iteration in one process."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from ragen_bench.errors import UserError
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_starpo.diagnostics import thoughts
from ragen_starpo.diagnostics.thoughts import Thought, measure_information
from ragen_starpo.iteration import compute_columns
from ragen_starpo.local.trainer import Trainer
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.trajectory import batch_of

pytestmark = pytest.mark.slow

SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "mini_batch": 8,
    "rollouts": {"instances": 2, "samples": 3, "max_tokens": 6},
    "filter": {"strategy": "all"},
}


def test_a_longer_horizon_makes_smaller_gradients(small):
    """By as much, whatever the width of the batch is."""
    norms = []
    for horizon in (30, 60):
        loss = {"aggregation": "seq-mean-token-sum-norm", "horizon": horizon}
        told = recipe_of({**SETTINGS, "loss": loss}, "a test")
        found = Trainer(small, told).iterate(0)
        assert (found.metrics["steps"], found.metrics["policy/skipped_steps"]) == (1, 0)
        norms.append(found.metrics["policy/grad_norm"])
    assert norms[0] == pytest.approx(2 * norms[1], rel=1e-4)
    assert norms[1] > 0


def test_passes_in_bfloat16_train_weights_in_float32(small):
    """Sampler and policy round the same weights, so they agree on what was sampled."""
    moving = {"loss": {"kl": 0.1}, "optimiser": {"learning_rate": 1.0}}
    told = {**SETTINGS, **moving, "cluster": {"dtype": "bfloat16"}}
    trainer = Trainer(small, recipe_of(told, "a test"))
    sampler = trainer._actor._loaded.model
    assert {buffer.dtype for buffer in sampler.buffers()} == {torch.float32}
    batch = batch_of(trainer._actor.rollouts(0, 1.0), trainer.pad)
    gap = (trainer.policy.log_probs(batch)[0] - batch.log_probs).abs().max()
    assert 0 < gap < 0.01
    before = trainer.policy.state_for_rollout()
    metrics = trainer.iterate(0).metrics
    assert metrics["policy/grad_norm"] > 0 < metrics["critic/grad_norm"]
    after, sampled = trainer.policy.state_for_rollout(), sampler.state_dict()
    assert {weight.dtype for weight in after.values()} == {torch.float32}
    moved = sum(not torch.equal(after[name], before[name]) for name in after)
    assert moved == len(after)
    for name, weight in after.items():
        assert sampled[name].dtype == torch.bfloat16
        assert torch.equal(sampled[name], weight.bfloat16())


def test_a_larger_scale_makes_smaller_gradients(small):
    """And no other figures of the rollouts. A return that has no peers is its own advantage."""
    norms = []
    alone = {
        "rollouts": {"instances": 4, "samples": 1, "max_tokens": 6},
        "advantage": {"estimator": "rloo"},
        "loss": {"entropy": 0},
    }
    for scale in (2, 1):
        mixture = {"normalise": "scales", "scales": {"FrozenLake-v0": scale}}
        told = recipe_of({**SETTINGS, **alone, "mixture": mixture}, "a test")
        found = Trainer(small, told).iterate(0).metrics
        norms.append(found["policy/grad_norm"])
        assert found["rollout/FrozenLake-v0/scale"] == scale
        assert found["rollout/FrozenLake-v0/reward"] == found["rollout/reward"]
    assert norms[1] == pytest.approx(2 * norms[0], rel=1e-4)
    assert norms[0] > 0


def test_advantages_are_scaled_by_what_the_filter_kept(small):
    found = {}
    for how in ("none", "linear", "sqrt"):
        told = {**SETTINGS, "filter": {"loss_scale": how}}
        trainer = Trainer(small, recipe_of(told, "a test"))
        batch = batch_of(trainer._actor.rollouts(0, 1.0), 0)
        models = trainer.load(None, batch, [])
        columns, _ = compute_columns(trainer.recipe, 0, batch, models, 0.25)
        found[how] = columns["advantages"]
    assert found["none"].abs().max() > 0.1
    torch.testing.assert_close(found["linear"], 0.25 * found["none"])
    torch.testing.assert_close(found["sqrt"], 0.5 * found["none"])


@pytest.fixture
def fails(monkeypatch):
    """Makes the game raise errors, so many in the first rollout of some instances."""
    step, reset = FrozenLakeEnv.step, FrozenLakeEnv.reset

    def noted(self, *, seed, options):
        self.played = (seed, options["noise_seed"])
        return reset(self, seed=seed, options=options)

    monkeypatch.setattr(FrozenLakeEnv, "close", lambda self: failing.closed.append(self))

    def failing(times, *instances):
        failing.closed = []
        left = dict.fromkeys([(instance, 0) for instance in instances], times)

        def failed(self, answer):
            if left.get(self.played):
                left[self.played] -= 1
                raise OSError(f"instance {self.played[0]} is gone")
            return step(self, answer)

        monkeypatch.setattr(FrozenLakeEnv, "step", failed)

    monkeypatch.setattr(FrozenLakeEnv, "reset", noted)
    return failing


def test_episodes_that_end_in_errors(small, fails):
    """One that does so once changes nothing, one that does so twice takes its group along."""
    told = recipe_of(SETTINGS, "a test")
    without = Trainer(small, told).iterate(0)
    fails(1, 0, 1)
    again = Trainer(small, told).iterate(0)
    assert (again.rollouts, again.error) == (without.rollouts, None)
    assert len(fails.closed) == 2
    assert again.metrics.pop("rollout/begun_anew") == 2
    # Of other company the matrix products round otherwise.
    assert again.metrics == pytest.approx(without.metrics, rel=1e-4, abs=1e-6)
    fails(2, 1)
    less = Trainer(small, told).iterate(0)
    assert less.rollouts == without.rollouts[:3]
    assert (less.metrics["rollout/failed"], less.metrics["filter/kept"]) == (1, 1)
    assert less.error == "OSError: instance 1 is gone"
    assert len(set(map(id, fails.closed))) == len(fails.closed) == 2
    fails(2, 0, 1)
    with pytest.raises(UserError, match=r"each group of rollouts had .* OSError: instance 0 is go"):
        Trainer(small, told).iterate(0)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_gap_of_rollouts_that_are_an_update_behind(small, monkeypatch, level):
    """Weighted by how likely they are now, which an engine of the same weights leaves at 1."""
    settings = {**SETTINGS, "optimiser": {"learning_rate": 3e-2}}
    without = Trainer(small, recipe_of(settings, "a test"))
    told = {**settings, "correction": {"level": level, "threshold": 1.1}}
    trainer = Trainer(small, recipe_of(told, "a test"))
    first = trainer.iterate(0).metrics
    assert first["correction/weight"] == pytest.approx(1, abs=1e-4)
    assert first["correction/kl"] == pytest.approx(0, abs=1e-5)
    plain = without.iterate(0).metrics
    assert {name: first[name] for name in plain} == pytest.approx(plain, rel=1e-3, abs=1e-5)
    monkeypatch.setattr(trainer._actor, "load_weights", lambda _: None)
    trainer.iterate(1)
    behind = trainer.iterate(2).metrics
    assert behind["correction/kl"] > 1e-3
    assert 0 < behind["correction/truncated"] < 1
    assert 0.05 < behind["correction/effective"] < 0.999
    # The first step is taken by the policy that its ratios are of.
    assert behind["policy/kl_from_rollouts"] == pytest.approx(0, abs=1e-5)


def test_micro_batches_by_tokens_change_no_figure(small):
    figures = []
    for changed in ({}, {"micro_batch_tokens": 400}):
        told = recipe_of({**SETTINGS, "loss": {"kl": 0.01}, **changed}, "a test")
        trainer = Trainer(small, told)
        models = (trainer.policy, trainer.critic, trainer.reference)
        assert {model._computing.tokens for model in models} == {told.micro_batch_tokens}
        figures.append(trainer.iterate(0).metrics)
    assert figures[0] == pytest.approx(figures[1], rel=1e-4, abs=1e-6)


def test_in_a_game_of_one_turn_no_history_is_the_full_one(small):
    """To the bit: figures, weights of the policy and of the critic."""
    found = []
    for history in ("full", "none"):
        rollouts = {**SETTINGS["rollouts"], "history": history}
        settings = {
            **SETTINGS,
            "envs": ["Bandit-v0"],
            "updates": 2,
            "mini_batch": 4,
            "advantage": {"estimator": "bi-level-gae", "credit": "turn"},
            "loss": {"aggregation": "seq-mean-token-mean", "kl": 0.1},
            "optimiser": {"learning_rate": 1e-2},
            "rollouts": rollouts,
        }
        trainer = Trainer(small, recipe_of(settings, "a test"))
        metrics = trainer.iterate(0).metrics
        found.append((metrics, trainer.policy.state_for_rollout()))
    (full, weights), (none, same) = found
    assert full["rollout/turns"] == 1
    assert full == none
    assert all(torch.equal(weights[name], same[name]) for name in weights)


def test_with_a_limited_history_a_turn_is_learned_in_its_own_context(small):
    """The entropies of one turn at a time, by a plain model."""
    rollouts = {**SETTINGS["rollouts"], "history": 1}
    trainer = Trainer(small, recipe_of({**SETTINGS, "rollouts": rollouts}, "a test"))
    model = AutoModelForCausalLM.from_pretrained(small, dtype=torch.float32)
    entropies = []
    played = trainer._actor.rollouts(0, 1.0)
    for turn in (turn for one in played for turn in one.turns):
        with torch.no_grad():
            logits = model(torch.tensor([[*turn.observed, *turn.sampled.ids]])).logits[0]
        of_answer = torch.log_softmax(logits[len(turn.observed) - 1 : -1], -1)
        entropies += (-(of_answer.exp() * of_answer).sum(-1)).tolist()
    found = trainer.iterate(0).metrics
    assert found["rollout/turns"] > 2
    assert found["steps"] == 1
    assert found["trained_tokens"] == len(entropies)
    assert found["policy/entropy"] == pytest.approx(sum(entropies) / len(entropies), rel=1e-5)
    assert found["policy/kl_from_rollouts"] == pytest.approx(0, abs=1e-6)


def answer_as_thought(sequence, place, record, _):
    before = [i for turn in sequence.turns[:place] for i in (*turn.observed, *turn.sampled.ids)]
    turn = sequence.turns[place]
    return Thought((*before, *turn.observed), turn.sampled.ids[:1], turn.sampled.ids[1:], record)


@pytest.mark.parametrize("history", ["full", "none"])
def test_thoughts_are_scored_by_the_policy_that_played(small, monkeypatch, history):
    """A plain model's scores of each after the context of each, at the rollouts' temperature."""
    monkeypatch.setattr(thoughts, "find_thought", answer_as_thought)
    rollouts = {**SETTINGS["rollouts"], "temperature": 0.7, "history": history}
    told = {**SETTINGS, "response_format": "think", "rollouts": rollouts}
    without = Trainer(small, recipe_of(told, "a test")).iterate(0)
    told["diagnostics"] = {"thoughts": 5}
    recipe = recipe_of(told, "a test")
    trainer = Trainer(small, recipe)
    played = trainer._actor.rollouts(0, 0.7)
    chosen = thoughts.draw_thoughts(played, 5, recipe.seed, 0, None)
    contexts = list(dict.fromkeys(thought.context for thought in chosen))
    model = AutoModelForCausalLM.from_pretrained(small, dtype=torch.float32)

    def score(thought, context):
        before = [*context, *thought.opening]
        with torch.no_grad():
            logits = model(torch.tensor([[*before, *thought.ids]])).logits[0] / 0.7
        scored = torch.log_softmax(logits, -1)[len(before) - 1 : -1]
        return scored.gather(1, torch.tensor(thought.ids)[:, None]).sum()

    scores = torch.stack([torch.stack([score(z, x) for x in contexts]) for z in chosen])
    own = torch.tensor([contexts.index(thought.context) for thought in chosen])
    tokens = torch.tensor([len(thought.ids) for thought in chosen])
    expected = measure_information(scores, own, tokens)
    iteration = trainer.iterate(0)
    assert "diagnostics" in iteration.seconds.keys() - without.seconds.keys()
    measured = {
        name.partition("/")[2]: iteration.metrics.pop(name)
        for name in list(iteration.metrics)
        if name.startswith("thoughts/")
    }
    assert (measured.pop("count"), measured.pop("contexts")) == (5, len(contexts))
    assert measured == pytest.approx(expected, rel=1e-4, abs=1e-4)
    # To the bit, all else is as without.
    assert iteration.metrics == without.metrics


def test_gradients_are_measured_by_the_policy_that_played(small):
    """Of one bucket and one step, that of the task is the step's, if it has no other part."""
    figures = []
    for buckets, entropy in ((0, 0.0), (1, 0.0), (2, 0.5)):
        told = {**SETTINGS, "loss": {"entropy": entropy}, "diagnostics": {"gradients": buckets}}
        figures.append(Trainer(small, recipe_of(told, "a test")).iterate(0).metrics)
    plain, alone, mixed = figures
    apart = {name: alone.pop(name) for name in list(alone) if name.startswith("gradients/")}
    # To the bit, all else is as without.
    assert alone == plain
    assert apart["gradients/1/task"] == pytest.approx(plain["policy/grad_norm"], rel=1e-4)
    assert apart["gradients/1/regularisation"] == 0
    assert apart["gradients/1/deviation"] == pytest.approx(plain["rollout/reward_deviation"])
    assert min(mixed[f"gradients/{bucket}/regularisation"] for bucket in (1, 2)) > 1e-3
