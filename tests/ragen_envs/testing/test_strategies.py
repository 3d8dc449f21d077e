"""What the strategies give."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from ragen_envs import testing
from ragen_envs.testing import (
    HOSTILE,
    Subject,
    action_sequences,
    hostile_text,
    instances,
    seeds,
    well_formed_answers,
)
from tests.ragen_envs.testing.lamps import SIDES, LampEnv

ROOT = Path(__file__).parents[3]
SUBJECT = Subject(make_env=LampEnv, seeds=(3, 5))


def test_seeds_are_those_of_the_subject_or_any():
    assert {find(seeds(SUBJECT), lambda seed, s=s: seed == s) for s in (3, 5)} == {3, 5}
    assert find(seeds(), lambda seed: seed >= 2**31 - 1) == 2**31 - 1


@given(instances(SUBJECT))
@settings(max_examples=10)
def test_instances_have_just_been_reset(player):
    assert player.seed in (3, 5)
    assert player.steps[0].observation == LampEnv().reset(seed=player.seed)[0]
    assert player.turn == 0
    player.close()


@given(well_formed_answers(SIDES, "<a>{}</a>", ", ", max_actions=3))
def test_well_formed_answers(answer):
    assert answer.startswith("<a>")
    assert answer.endswith("</a>")
    words = answer[3:-4].split(", ")
    assert 1 <= len(words) <= 3
    assert set(words) <= set(SIDES)


@given(well_formed_answers(SIDES))
def test_one_action_is_an_answer_without_more(answer):
    assert answer in SIDES


@given(action_sequences(SIDES, max_size=4), action_sequences(3))
def test_action_sequences_are_of_answers_or_indices(answers, indices):
    assert len(answers) <= 4
    assert set(answers) <= set(SIDES)
    assert len(indices) <= 20
    assert set(indices) <= {0, 1, 2}


@pytest.mark.parametrize(
    "odd",
    [
        lambda text: text == "",
        lambda text: "\0" in text,
        lambda text: any("\ud800" <= char <= "\udfff" for char in text),
        lambda text: "<answer>" in text and "</answer>" not in text,
        lambda text: "\u202e" in text,
        lambda text: "{0}" in text,
    ],
)
def test_hostile_text_is_hostile(odd):
    assert odd(find(hostile_text(), odd))


@given(st.integers(1, 50).flatmap(lambda size: st.tuples(st.just(size), hostile_text(size))))
def test_hostile_text_keeps_to_a_size(case):
    size, text = case
    assert len(text) <= size


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_hostile_text_may_be_long():
    assert len(find(hostile_text(), lambda text: len(text) >= 100_000)) >= 100_000


def test_the_longest_hostile_text_has_a_million_characters():
    assert max(map(len, HOSTILE.values())) == 1_000_000


def test_a_star_takes_all_that_needs_no_hypothesis():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from ragen_envs.testing import *\n"
        "print(*sorted(name for name in globals() if not name.startswith('__')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    named = set(done.stdout.split()) - {"sys"}
    assert {f"check_{name}" for name in testing.CHECKS} | {"check_text_env", "Subject"} < named
    for name in ("seeds", "instances", "action_sequences", "TextEnvMachine"):
        assert name not in named
        assert getattr(testing, name).__module__.startswith("ragen_envs.testing.")
