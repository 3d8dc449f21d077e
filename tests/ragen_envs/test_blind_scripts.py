"""Blind scripts: the shipped ones fit their games, and a game of another package may ship one."""

import json

import pytest

from ragen_envs import registration
from ragen_envs.core.policies import blind_answer
from ragen_envs.registration import GAMES, IDS, find_blind_script, load_class


@pytest.mark.parametrize("env_id", IDS)
def test_a_script_has_the_actions_that_its_budget_allows(env_id):
    script = find_blind_script(env_id)
    env = load_class(env_id)(env_id.partition("/")[2], split="train", response_format="plain")
    budget = env.budget
    assert len(script) <= budget.max_turns
    assert all(1 <= len(turn) <= budget.max_actions_per_turn for turn in script)
    assert sum(map(len, script)) <= budget.max_actions


@pytest.mark.parametrize("env_id", IDS)
def test_a_script_plays_the_same_answers_in_every_episode(env_id):
    script = find_blind_script(env_id)
    env = load_class(env_id)(env_id.partition("/")[2], split="val", response_format="think")
    played = []
    for seed in range(3):
        env.reset(seed=seed)
        answers = []
        while env.is_running:
            answers.append(blind_answer(env, script, len(answers)))
            assert env.step(answers[-1])[4]["format_is_valid"]
        played.append(answers)
    longest = max(played, key=len)
    assert all(answers == longest[: len(answers)] for answers in played)


def test_every_game_of_this_package_has_scripts_for_its_variants():
    for game in GAMES:
        scripts = registration._read_scripts(game.blind)
        assert list(scripts) == [variant.name for variant in game.variants]


@pytest.mark.parametrize(
    "scripts", [{"A-v0": []}, {"A-v0": [[]]}, {"A-v0": [[1]]}, {"A-v0": ["Up"]}]
)
def test_a_file_of_another_form_is_refused(scripts, monkeypatch, tmp_path):
    (tmp_path / "blind.json").write_text(json.dumps(scripts))
    monkeypatch.setattr(registration, "find_file", lambda place: tmp_path / place.split(":")[1])
    with pytest.raises(ValueError, match=r"lamps:blind\.json must have a list of turns"):
        registration._read_scripts.__wrapped__("lamps:blind.json")


def test_a_game_without_a_file_has_no_script(monkeypatch):
    game = GAMES[0]._replace(blind="")
    monkeypatch.setattr(registration, "find_game", lambda _: game)
    assert find_blind_script(game.ids[0]) is None
    assert find_blind_script("somewhere/Else-v0") is None
