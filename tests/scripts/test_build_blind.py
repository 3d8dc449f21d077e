"""The search of blind scripts: what it changes, and what it finds on few instances."""

import build_blind

from ragen_envs.core.instances import RandomStream
from ragen_envs.registration import load_class


def test_a_change_replaces_moves_or_inserts_actions():
    stream = RandomStream("test")
    changed = {build_blind._change(("a", "b", "c"), ["x"], stream) for _ in range(200)}
    assert {("x", "b", "c"), ("x", "a", "b"), ("b", "a", "c")} <= changed
    assert all(len(script) == 3 for script in changed)


def test_a_script_is_split_at_the_actions_of_a_turn():
    env = load_class("ragen/Sokoban-v0")("Sokoban-v0")
    assert build_blind.split_turns(env, tuple("abcdefg")) == [list("abcde"), list("fg")]


def test_the_search_is_repeatable_and_does_not_lower_the_score(monkeypatch):
    monkeypatch.setattr(build_blind, "SCRIPTS", 20)
    monkeypatch.setattr(build_blind, "INSTANCES", 24)
    env = load_class("ragen/Sokoban-v0")("Sokoban-v0", split="train", response_format="plain")
    found = build_blind.search(env, "Sokoban-v0")
    assert found == build_blind.search(env, "Sokoban-v0")
    _, first = build_blind._find_candidates(env)
    assert build_blind._play(env, found) >= build_blind._play(env, first)
    assert env.split == "train"
