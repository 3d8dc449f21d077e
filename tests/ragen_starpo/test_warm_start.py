"""Demonstrations, and a model that learns from them."""

import math
from collections import Counter

import pytest

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import load
from ragen_bench.models.hf.model import HFModel
from ragen_starpo.local.validation import validate
from ragen_starpo.recipes.run_sections import ValidationSettings
from ragen_starpo.warm_start import Demonstrator, WarmStartSettings, warm_start

MOVES = ("Up", "Right", "Down", "Left")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]


@pytest.mark.parametrize("response_format", ["think", "answer"])
@pytest.mark.parametrize("env", ["ragen/Sokoban-v0", "ragen/FrozenLake-v0"])
def test_the_oracle_in_the_models_words(small, env, response_format):
    loaded = load(str(small))
    demonstrator = Demonstrator(loaded, response_format, 200)
    shown = [demonstrator.episode(env, "train", index) for index in range(8)]
    assert all(turn.format_is_valid for one in shown for turn in one.record.turns)
    if env == "ragen/Sokoban-v0":
        assert all(one.record.success for one in shown)
        assert all(one.record.optimal_length == moves(one) for one in shown)
    ends = {turn.sampled.ids[-1] in loaded.ends for one in shown for turn in one.turns}
    # In the form "think" the harness stops at the answer's tag, before a token could end the turn.
    assert ends == {response_format == "answer"}
    text = loaded.tokenizer.decode(shown[0].turns[0].sampled.ids, skip_special_tokens=True)
    assert text == shown[0].record.turns[0].answer


@pytest.mark.parametrize("response_format", ["think", "answer"])
def test_the_random_player_plays_legal_actions_of_its_own(small, response_format):
    demonstrator = Demonstrator(load(str(small)), response_format, 200, "random")
    shown, again = (
        [demonstrator.episode("ragen/FrozenLake-v0", "train", index) for index in range(32)]
        for _ in range(2)
    )
    assert [each.record for each in shown] == [each.record for each in again]
    turns = [turn for each in shown for turn in each.record.turns]
    assert all(turn.format_is_valid for turn in turns)
    taken = Counter(action for turn in turns for action in turn.actions)
    # A quarter each; a share's standard deviation is below 3 % in over 200 actions.
    assert sum(taken.values()) > 200
    assert all(0.15 < taken[move] / sum(taken.values()) < 0.35 for move in MOVES)


def test_an_unknown_player_is_refused():
    with pytest.raises(UserError, match=r"unknown player 'orakel'; did you mean oracle\?"):
        WarmStartSettings(("Bandit-v0",), player="orakel")


def moves(trajectory):
    return sum(len(turn.actions) for turn in trajectory.record.turns)


def test_answers_find_their_form(small, tmp_path):
    told = []
    settings = WarmStartSettings(
        ("FrozenLake-v0",), "answer", 64, 16, 16, learning_rate=1e-2, max_tokens=24
    )
    warm_start(settings, small, tmp_path / "warm", told.append)
    assert [epoch.number for epoch in told] == list(range(1, 17))
    assert told[0].loss > 2.5
    assert told[-1].loss < 1.0
    assert all(epoch.success is None for epoch in told)
    model = HFModel(str(tmp_path / "warm"))
    tasks = tasks_of({"ragen/FrozenLake-v0": 8}, "val", 1)
    turns = [
        turn
        for played in play(tasks, model, Sampling(0.0, 24, "", 0), "answer")
        for turn in played.record.turns
    ]
    assert sum(turn.format_is_valid for turn in turns) / len(turns) > 0.9


def test_the_model_of_the_highest_held_out_success_is_kept(small, tmp_path):
    told = []
    settings = WarmStartSettings(
        *(("FrozenLake-v0",), "answer", 32, 5, 16),
        **{"learning_rate": 2e-2, "max_tokens": 24, "validate_every": 2, "val_instances": 16},
    )
    warm_start(settings, small, tmp_path / "warm", told.append)
    measured = [epoch.success for epoch in told]
    assert [success is None for success in measured] == [True, False, True, False, False]
    validation = ValidationSettings(instances=16, temperature=settings.val_temperature)
    again = validate(tmp_path / "warm", settings.envs, "answer", 24, validation)
    assert again["success"] == max(success for success in measured if success is not None)


def test_the_same_seed_makes_the_same_model(small, tmp_path):
    def trained(name, seed):
        settings = WarmStartSettings(("Sokoban-v0",), "answer", 8, 1, 4, max_tokens=24, seed=seed)
        warm_start(settings, small, tmp_path / name)
        return (tmp_path / name / "model.safetensors").read_bytes()

    assert trained("a", 1) == trained("b", 1) != trained("c", 2)


def test_bad_settings(small, tmp_path):
    for name in ("episodes", "epochs", "batch", "micro_batch", "max_tokens"):
        with pytest.raises(UserError, match=f"^{name} must be at least 1, got 0"):
            WarmStartSettings(("FrozenLake-v0",), **{name: 0})
    for rate in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(UserError, match="learning_rate must be positive and finite"):
            WarmStartSettings(("FrozenLake-v0",), learning_rate=rate)
    for count in (0, 257):
        with pytest.raises(UserError, match=f"val_instances must be from 1 to 256, got {count}"):
            WarmStartSettings(("FrozenLake-v0",), val_instances=count)
    with pytest.raises(UserError, match="val_temperature must be at least 0 and finite, got -1"):
        WarmStartSettings(("FrozenLake-v0",), val_temperature=-1)
    with pytest.raises(UserError, match="unknown environment 'Lake'"):
        warm_start(WarmStartSettings(("Lake",)), small, tmp_path / "warm")
