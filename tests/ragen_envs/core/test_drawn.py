"""The drawn split: instances and noise follow from the key of a public draw."""

import hashlib

import pytest

from ragen_envs.core import text_game
from ragen_envs.core.drawn import draw_key
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.sokoban.env import SokobanEnv
from tests.ragen_envs.support import make

KEY, OTHER = (draw_key("a" * 64, value * 64) for value in "bc")


def played(env, noise_seed=0):
    """Return all that a random player sees in the first three instances."""
    shown = []
    for seed in range(3):
        stream = RandomStream("test", seed)
        shown.append(env.reset(seed=seed, options={"noise_seed": noise_seed})[0])
        while env.legal_actions:
            shown.append(env.step(random_answer(env, stream))[0])
    return shown


def test_the_key_is_that_of_the_page():
    text = b"ragen draw 1\0" + b"a" * 64 + b"b" * 64
    assert hashlib.sha256(text).hexdigest() == KEY
    with pytest.raises(ValueError, match="the value of a draw is 64 hex digits"):
        draw_key("a" * 64, "B" * 64)


@pytest.mark.parametrize("id_", ["Sokoban-v0", "FrozenLake-v0", "Bandit-v0"])
def test_instances_and_noise_follow_from_the_key(id_):
    first, again, other = (make(id_, split="drawn", draw=key) for key in (KEY, KEY, OTHER))
    assert played(first) == played(again) != played(other)
    digests = {first.get_instance(seed).digest for seed in range(256)}
    assert len(digests) == 256
    assert {first.get_instance(seed).part for seed in range(256)} == {"sealed"}
    assert first.get_instance(256) == first.get_instance(0)


def test_the_noise_is_not_that_of_another_draw_or_split():
    """On one and the same instance, whose noise alone can differ."""
    words = set()
    for arguments in ({"split": "drawn", "draw": KEY}, {"split": "drawn", "draw": OTHER}, {}):
        env = make("FrozenLake-v0", **arguments)
        env.reset(seed=0, options={"noise_seed": 0})
        words.add(env.make_noise_stream().word())
    assert len(words) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"split": "drawn"}, "the split 'drawn' takes draw=KEY"),
        ({"split": "drawn", "draw": "short"}, "got 'short'"),
        ({"split": "test", "draw": KEY}, "draw goes with the split 'drawn', not with 'test'"),
    ],
)
def test_mistakes(arguments, says):
    with pytest.raises(ValueError, match=says):
        make("Bandit-v0", **arguments)


def test_a_game_whose_instances_are_all_public_has_none():
    with pytest.raises(ValueError, match="has no split 'drawn', as all of its instances are"):
        make("TwentyQuestions-v0", split="drawn", draw=KEY)


def test_a_small_game_has_as_few_drawn_instances(monkeypatch):
    all_of_them = make("Sokoban-v0", split="drawn", draw=KEY)
    firsts = [all_of_them.get_instance(seed) for seed in range(3)]
    monkeypatch.setattr(SokobanEnv, "held_out_size", lambda *_: 3)
    monkeypatch.setattr(text_game, "_generated", {})
    small = make("Sokoban-v0", split="drawn", draw=KEY)
    assert list(small.load_held_out()) == firsts
    assert small.reset(seed=4)[1]["index"] == 1
