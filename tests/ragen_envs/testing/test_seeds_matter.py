"""Whether seeds matter is said where it shows, and otherwise what would show it."""

import random

import pytest
from gymnasium.spaces import Text

from ragen_envs.testing import CheckFailed, CheckSkipped, check_seeds_matter, check_text_env
from tests.ragen_envs.testing.guess import NUMBERS, TURNS, Guess, OneSecret, oracle

TOLD = [
    {"answers": NUMBERS},
    {"answers": lambda env, rng: rng.choice(NUMBERS)},
    {"oracle": oracle, "ceiling": 1.0},
    {"canonical": lambda env: env.unwrapped.secret},
]


def failed(outcomes):
    return [outcome.name for outcome in outcomes if outcome.status == "failed"]


def test_unread_samples_say_nothing_and_the_options_that_would_are_named():
    outcomes = check_text_env(Guess, max_turns=TURNS)
    (outcome,) = [outcome for outcome in outcomes if outcome.name == "seeds_matter"]
    assert outcome.status == "skipped"
    assert outcome.message.startswith("needs the option 'answers': ")
    assert outcome.message.endswith("so does the option 'canonical'")


@pytest.mark.parametrize("told", TOLD)
def test_a_hidden_instance_is_seen_once_the_kit_is_told(told):
    check_seeds_matter(Guess, **told)


@pytest.mark.parametrize("told", TOLD)
def test_a_seed_without_effect_is_found_once_the_kit_is_told(told):
    with pytest.raises(CheckFailed, match="reset does not use its seed"):
        check_seeds_matter(OneSecret, **told)


class TellsLegalActions(OneSecret):
    def reset(self, **arguments):
        observation, info = super().reset(**arguments)
        return observation, {**info, "legal_actions": NUMBERS}


def test_legal_actions_in_info_are_enough():
    with pytest.raises(CheckFailed, match="same episode for the same answers") as failure:
        check_seeds_matter(TellsLegalActions)
    assert "'canonical'" in str(failure.value)


def test_without_answers_it_is_decided_by_what_shows():
    class Shows(Guess):
        def reset(self, **arguments):
            return f"It is {super().reset(**arguments) and self.secret}.", {}

    check_seeds_matter(Shows)
    with pytest.raises(CheckSkipped, match="needs the option 'answers'"):
        check_seeds_matter(Guess)


class AsksTheModule(Guess):
    def draw(self):
        return random.randint(1, 100)


class SeldomNone(Guess):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated or None, info


class NeedsAWord(Guess):
    def step(self, action):
        if self.running and not action.split():
            raise IndexError("no word")
        return super().step(action)


class EmptyText(Text):
    def sample(self, mask=None, probability=None):
        return ""


class EmptySamples(NeedsAWord):
    def __init__(self):
        super().__init__()
        self.action_space = EmptyText(9, min_length=0)


def wrong_oracle(env):
    return env.unwrapped.moves[0]


@pytest.mark.parametrize(
    ("env", "options", "found"),
    [
        (AsksTheModule, {}, "global_random_not_read"),
        (SeldomNone, {}, "flags"),
        (NeedsAWord, {}, "hostile_text"),
        (EmptySamples, {}, "hostile_text"),
        (Guess, {"oracle": wrong_oracle, "ceiling": 1.0}, "reset_and_step"),
    ],
)
def test_one_mistake_is_reported_once(env, options, found):
    with pytest.raises(CheckFailed) as failure:
        check_text_env(env, answers=NUMBERS, max_turns=TURNS, **options)
    assert failed(failure.value.outcomes) == [found]
