"""Responses that the limit of tokens cut: left out of the loss, or penalised before it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from safetensors.torch import load_file
from verl import DataProto
from verl.workers.reward_manager.dapo import DAPORewardManager

from ragen_bench.errors import UserError
from ragen_starpo.algorithms.registry import AGGREGATIONS
from ragen_starpo.iteration import compute_columns, update_models
from ragen_starpo.local.train import train
from ragen_starpo.local.trainer import Trainer
from ragen_starpo.local.untrained import NO_STEPS, NO_TOKENS, UntrainedWarning
from ragen_starpo.objective import find_trained_tokens
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import LossSettings, ShapingSettings
from ragen_starpo.rollout.shaping import overlong_penalty
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of

SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "mini_batch": 4,
    "rollouts": {"instances": 2, "samples": 2, "max_tokens": 6},
    "advantage": {"estimator": "grpo"},
    "filter": {"strategy": "all"},
    "validation": {"every": 0},
}


def recipe(**changed):
    return recipe_of({**SETTINGS, **changed}, "a test")


def respond(size):
    return Sampled((8,) * abs(size), (-1.0,) * abs(size), stopped=size > 0)


def played(*episodes, split=False):
    """Return trajectories of turns, each a number of sampled tokens, negative if it was cut."""
    return [
        TokenTrajectory(
            number // 2,
            tuple(
                Turn(
                    (7,) * (1 + turn), Sampled((8,) * abs(size), (-1.0,) * abs(size), size > 0), 1.0
                )
                for turn, size in enumerate(turns)
            ),
            {},
            split,
        )
        for number, turns in enumerate(episodes)
    ]


class TabledModels:
    """Models that record the weights of their steps."""

    measures_gap = False

    def __init__(self, batch):
        self._batch, self.weights = batch, []

    def old_log_probs(self):
        return self._batch.log_probs

    def reference_log_probs(self):
        return None

    def values(self):
        return None

    def store(self, columns):
        self.columns = columns

    def step(self, rows, weights):
        self.weights.append(weights)
        return {"policy": {"loss": 0.0, "grad_norm": 1.0, "lr": 0.1, "entropy": 2.0}}


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_cut_turns_have_no_weight_and_are_not_counted(aggregation, split):
    """The mean is over the tokens, or the trajectories, that are left."""
    batch = batch_of(played((2, -3), (-4,), (1, 2), (3,), split=split), 0)
    loss = {"aggregation": aggregation, "horizon": 10, "mask_truncated": True}
    models, told = TabledModels(batch), recipe(loss=loss)
    metrics = update_models(told, 0, batch, [torch.arange(len(batch))], models, 1.0)
    (weights,) = models.weights
    trained = batch.mask.bool() & ~batch.cut.bool()
    assert torch.equal(weights > 0, trained)
    assert int(trained.sum()) == metrics["trained_tokens"] == 2 + 1 + 2 + 3
    assert metrics["loss/masked"] == pytest.approx(7 / 15)
    total = {
        "token-mean": 1.0,
        "seq-mean-token-mean": 1.0,
        "seq-mean-token-sum": 8 / 3,
        "seq-mean-token-sum-norm": 8 / 30,
    }
    assert float(weights.sum()) == pytest.approx(total[aggregation])
    # Their returns remain in the baseline of the group.
    assert models.columns["advantages"][batch.cut.bool()].any()


def test_without_the_setting_they_are_trained_on():
    batch = batch_of(played((2, -3), (-4,)), 0)
    assert torch.equal(find_trained_tokens(LossSettings(), batch), batch.mask)
    models = TabledModels(batch)
    metrics = update_models(recipe(), 0, batch, [torch.arange(2)], models, 1.0)
    assert metrics["trained_tokens"] == 9
    assert "loss/masked" not in metrics
    assert torch.equal(models.weights[0] > 0, batch.mask.bool())


def test_rejected_tokens_have_no_weight():
    """Of three tokens in each of two trajectories, the trainer gives others to the engine's."""
    batch = batch_of(played((3,), (1, 2)), 0)
    models = TabledModels(batch)
    gap = torch.where(batch.ids == 8, torch.arange(batch.ids.shape[1]) % 2 * 1.0, 0.0)
    models.old_log_probs = lambda: batch.log_probs + gap
    settings = recipe(correction={"reject": "token"})
    metrics = update_models(settings, 0, batch, [torch.arange(2)], models, 1.0)
    kept = batch.mask.bool() & (gap == 0)
    assert torch.equal(models.weights[0] > 0, kept)
    assert 0 < metrics["trained_tokens"] == int(kept.sum()) < 6
    assert metrics["correction/rejected"] == pytest.approx(1 - int(kept.sum()) / 6)


def test_losses_get_the_columns_that_they_take():
    """Sequences are trajectories or turns; noise depends on the seed and the iteration."""
    batch = batch_of(played((2, 3), (1, 2), split=True), 0)
    for sequence, wanted in (("trajectory", [0, 0, 1, 1]), ("turn", [0, 1, 2, 3])):
        settings = recipe(loss={"policy": "gspo", "sequence": sequence})
        columns, _ = compute_columns(settings, 0, batch, TabledModels(batch), 1.0)
        assert columns["sequences"].unique_consecutive(dim=1)[:, 0].tolist() == wanted
    noises = [
        compute_columns(
            recipe(loss={"policy": "clip-cov"}, seed=seed), number, batch, TabledModels(batch), 1.0
        )[0]["noise"].tolist()
        for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0))
    ]
    assert noises[0] == noises[1]
    assert noises[0] not in noises[2:]


@pytest.mark.parametrize("split", [False, True])
def test_trajectories_with_a_void_turn_have_no_weight(split):
    """Their returns stay in the baseline, and the group is left with one that is trained on."""
    whole = played((2, 3), (1, 2), (2,), (4,), split=split)
    first = replace(whole[0], turns=(replace(whole[0].turns[0], is_void=True), *whole[0].turns[1:]))
    batch = batch_of([first, *whole[1:]], 0)
    models = TabledModels(batch)
    steps = [torch.arange(len(batch))]
    settings = recipe(loss={"mask_void_turns": True, "mask_truncated": True})
    metrics = update_models(settings, 0, batch, steps, models, 1.0)
    assert metrics["trained_tokens"] == 1 + 2 + 2 + 4
    assert metrics["loss/masked"] == pytest.approx(5 / 14)
    is_void = (batch.trajectories == 0)[:, None] & batch.mask.bool()
    assert torch.equal(models.weights[0] > 0, batch.mask.bool() & ~is_void)
    assert torch.equal(find_trained_tokens(LossSettings(), batch), batch.mask)


def test_weights_of_groups_multiply_their_advantages():
    whole = played((2,), (1, 2))
    plain, weighted = (
        batch_of([replace(one, weight=weight) for one in whole], 0) for weight in (1.0, 2.5)
    )
    found = []
    for batch in (plain, weighted):
        models = TabledModels(batch)
        update_models(recipe(), 0, batch, [torch.arange(2)], models, 1.0)
        found.append(models.columns["advantages"])
    assert found[0].any()
    torch.testing.assert_close(found[1], 2.5 * found[0])


def test_a_step_with_nothing_to_train_on_is_not_taken():
    batch = batch_of(played((-2,), (-1, -3), (2,), (-3,)), 0)
    models = TabledModels(batch)
    steps = [torch.tensor([0, 1]), torch.tensor([2, 3])]
    metrics = update_models(recipe(loss={"mask_truncated": True}), 0, batch, steps, models, 1.0)
    assert (metrics["steps"], metrics["trained_tokens"], len(models.weights)) == (1, 2, 1)


@pytest.mark.slow
def test_a_run_whose_responses_are_all_cut_says_so(small, tmp_path):
    """Untrained, the model never ends a response of its own accord within six tokens."""
    told = recipe(loss={"mask_truncated": True}, iterations=2, give_up_after=9)
    with pytest.warns(UntrainedWarning) as caught:
        run = train(told, small, tmp_path / "run")
    assert [str(one.message) for one in caught if one.category is UntrainedWarning] == [NO_TOKENS]
    assert caught[0].filename == __file__
    lines = list(run.lines("metrics.jsonl"))
    assert [(one["steps"], one["loss/masked"], one["rollout/cut"]) for one in lines] == [
        (0, 1, 1)
    ] * 2
    before = load_file(small / "model.safetensors")
    after = load_file(run.path / "final/model.safetensors")
    assert all(torch.equal(before[name].float(), weight) for name, weight in after.items())
    with pytest.raises(UserError, match="the last 2 iterations taught nothing"):
        train(
            recipe(loss={"mask_truncated": True}, iterations=9, give_up_after=2),
            *(small, tmp_path / "again"),
        )


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_train_warns_of_a_run_that_learned_nothing(small, tmp_path, kept):
    told = recipe(filter={"strategy": "all" if kept else "top-k"}, iterations=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(told, small, tmp_path / "run")
        train(told, small, tmp_path / "run")  # again, finished
    said = [str(one.message) for one in caught if one.category is UntrainedWarning]
    assert said == ([] if kept else [NO_STEPS, NO_STEPS])


class Letters:
    """A tokenizer as verl's reward manager calls it."""

    eos_token = "$"

    def decode(self, ids, skip_special_tokens):
        return "".join(map(str, ids.tolist()))


@given(st.integers(1, 40), st.integers(0, 40), st.floats(0, 3), st.data())
def test_the_penalty_is_that_of_verls_dapo(most, buffer, factor, data):
    buffer = max(1, buffer % (most + 1))
    tokens = data.draw(st.integers(1, most))
    manager = DAPORewardManager(
        Letters(),
        num_examine=0,
        compute_score=lambda **_: 0.25,
        max_resp_len=most,
        overlong_buffer_cfg=OmegaConf.create(
            {"enable": True, "len": buffer, "penalty_factor": factor, "log": False}
        ),
    )
    attention = torch.ones(1, 2 + most, dtype=torch.int64)
    attention[0, 2 + tokens :] = 0
    row = DataProto.from_dict(
        {
            "prompts": torch.ones(1, 2, dtype=torch.int64),
            "responses": torch.ones(1, most, dtype=torch.int64),
            "attention_mask": attention,
        },
        {
            "reward_model": np.array([{"ground_truth": ""}], dtype=object),
            "data_source": np.array(["-"], dtype=object),
        },
    )
    theirs = float(manager(row).sum())
    weights = ShapingSettings(overlong_buffer=buffer, overlong_penalty=factor)
    assert 0.25 - overlong_penalty(weights, tokens, most) == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(1, 0), (60, 0), (61, 0.025), (80, 0.5), (100, 1.0)]
)
def test_the_penalty_rises_over_the_buffer(tokens, penalty):
    """Equation 13 of DAPO, with 40 of 100 tokens as the buffer."""
    weights = ShapingSettings(overlong_buffer=40)
    assert overlong_penalty(weights, tokens, 100) == pytest.approx(penalty)


@pytest.mark.slow
def test_each_turn_is_penalised_for_its_own_response(small):
    """All responses of an untrained model are cut, so each turn has the whole penalty."""
    found = Trainer(small, recipe(shaping={"overlong_buffer": 4, "overlong_penalty": 0.5}))
    played = found._actor.rollouts(0, 1.0)
    for trajectory in played:
        for turn, recorded in zip(trajectory.turns, trajectory.record.turns, strict=True):
            assert recorded.completion_tokens == len(turn.sampled.ids) == 6
            assert turn.reward == pytest.approx(recorded.reward - 0.5)
    assert found.iterate(0).metrics["rollout/overlong"] == 0.5
    assert "rollout/overlong" not in Trainer(small, recipe()).iterate(0).metrics


def test_a_buffer_longer_than_a_response_is_refused():
    with pytest.raises(UserError) as error:
        recipe(shaping={"overlong_buffer": 7})
    assert str(error.value) == (
        "a test: shaping.overlong_buffer: 7 is more than rollouts.max_tokens=6; set it to at most 6"
    )
    assert recipe(shaping={"overlong_buffer": 6}).shaping.overlong_penalty == 1
    with pytest.raises(UserError, match=r"overlong_penalty: 0\.5 has no effect without"):
        recipe(shaping={"overlong_penalty": 0.5})


def test_defaults_are_not_recorded():
    """So that runs of earlier versions resume."""
    plain = recipe().as_json()
    assert not {"kl_ratio", "mask_truncated", "policy", "settings"} & plain["loss"].keys()
    assert not {"overlong_buffer", "overlong_penalty"} & plain["shaping"].keys()
    loss, shaping = {"kl_ratio": True, "mask_truncated": True}, {"overlong_buffer": 2}
    given = recipe(loss=loss, shaping=shaping).as_json()
    assert loss.items() <= given["loss"].items()
    assert shaping.items() <= given["shaping"].items()
    assert recipe_of(given, "a test") == recipe(loss=loss, shaping=shaping)
