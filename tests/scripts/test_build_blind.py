"""The search of blind scripts: its races, its changes, and the shipped scripts' scores on train."""

import json

import blind_search
import build_blind
import pytest
from blind_search import FIRST, Search, Sizes, make_silent_env, play_script, split_turns

from ragen_envs.registration import GAMES, IDS, find_blind_script, load_class
from tests.cases import first_fast

SOKOBAN = "ragen/Sokoban-v0"
TRAIN_SCORES = json.loads(build_blind.TRAIN_SCORES.read_text(encoding="utf-8"))


def read_script(env_id):
    return tuple(action for turn in find_blind_script(env_id) for action in turn)


def test_a_change_replaces_moves_or_inserts_actions_or_takes_the_end_of_another():
    search = Search(SOKOBAN)
    changed = {search._change([tuple("abcd"), tuple("efgh")], ["x"]) for _ in range(500)}
    wanted = [tuple(text) for text in ("xbcd", "bacd", "xabc", "abgh")]
    assert changed >= set(wanted)
    assert all(len(script) == 4 for script in changed)


def test_a_script_is_split_at_the_actions_of_a_turn():
    env = make_silent_env(SOKOBAN)
    assert split_turns(env, tuple("abcdefg")) == [list("abcde"), list("fg")]


@pytest.mark.parametrize("env_id", first_fast(IDS))
def test_scores_without_texts_are_those_of_the_environment(env_id):
    shown = load_class(env_id)(env_id.partition("/")[2], split="train", response_format="plain")
    silent, script = make_silent_env(env_id), read_script(env_id)
    for _ in range(2):  # the second time with the instances that were kept
        assert play_script(silent, script, range(6), 3) == play_script(shown, script, range(6), 3)


def test_a_quarter_of_a_race_goes_on_and_the_best_of_fresh_instances_is_taken(monkeypatch):
    played = []

    def play(env, script, seeds, noise=0):
        played.append((script, seeds))
        score = float(script[0]) if len(seeds) < 64 else -float(script[0])
        return score, 0.0

    monkeypatch.setattr(blind_search, "play_script", play)
    search = Search(SOKOBAN, Sizes(300, 32, 64))
    pool = [(str(number),) * search.places for number in range(16)]
    monkeypatch.setattr(search, "_make_pool", lambda: ([pool[0][0]], pool))
    monkeypatch.setattr(search, "_change", lambda *_: pool[0])
    assert search.run() == pool[15]  # alone on all search instances
    counts = [sum(len(seeds) == size for _, seeds in played) for size in (2, 6, 24, 64)]
    assert counts == [16, 4, 1, 1]
    fresh = [seeds for _, seeds in played if len(seeds) == 64]
    assert fresh == [range(FIRST + 32, FIRST + 96)]


def test_the_search_is_repeatable_and_does_not_lower_the_score():
    searches = [Search(SOKOBAN, Sizes(4000, 64, 64)) for _ in range(2)]
    first, second = (search.run() for search in searches)
    assert first == second
    assert 4000 <= searches[0].plays < 6000
    _, pool = Search(SOKOBAN, Sizes(4000, 64, 64))._make_pool()
    usual = play_script(searches[0].env, pool[0], range(FIRST, FIRST + 64))
    best = searches[0]._rank_played()[0]
    assert play_script(searches[0].env, best, range(FIRST, FIRST + 64)) >= usual


@pytest.mark.parametrize("env_id", first_fast(["ragen/Bandit-v0", SOKOBAN, "ragen/FrozenLake-v0"]))
def test_recorded_scores_are_those_of_the_shipped_scripts(env_id):
    assert Search(env_id).measure(read_script(env_id)) == TRAIN_SCORES[env_id]


@pytest.mark.slow
def test_a_certificate_has_the_score_of_the_shipped_script():
    file = build_blind.TRAIN_SCORES.parents[1] / "certificates/Sokoban-v0.json"
    panel = json.loads(file.read_text(encoding="utf-8"))["panel"]
    seeds = range(panel["episodes"])
    score, _ = play_script(make_silent_env(SOKOBAN), read_script(SOKOBAN), seeds)
    assert panel["blind"]["score"] == score / len(seeds)


def test_every_script_has_scores_on_train():
    assert list(TRAIN_SCORES) == [env for game in GAMES for env in game.ids]


@pytest.mark.slow
def test_check_searches_again_and_names_a_changed_script(monkeypatch, tmp_path, capsys):
    assert build_blind.main(["--check", "bandit"]) == 0
    assert capsys.readouterr().out.endswith("same  bandit\n")
    changed = tmp_path / "blind.json"
    changed.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(build_blind, "find_file", lambda _: changed)
    assert build_blind.main(["--check", "bandit"]) == 1
    assert capsys.readouterr().out.endswith("differs  bandit\n")
    assert changed.read_text(encoding="utf-8") == "{}"
