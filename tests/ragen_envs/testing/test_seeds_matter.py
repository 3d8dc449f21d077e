"""Whether seeds matter is said where it shows, and otherwise what would show it."""

import random

import pytest
from gymnasium.spaces import Text

from ragen_envs.testing import CheckFailed, CheckSkipped, check_seeds_matter, check_text_env
from tests.cases import first_fast
from tests.ragen_envs.testing.guess import NUMBERS, TURNS, Guess, OneSecret, oracle

TOLD = [
    {"answers": NUMBERS},
    {"answers": lambda env, rng: rng.choice(NUMBERS)},
    {"oracle": oracle, "ceiling": 1.0},
    {"canonical": lambda env: env.unwrapped.secret},
]


def failed(outcomes):
    return [outcome.name for outcome in outcomes if outcome.status == "failed"]


def message(env, **told):
    """Return what the check finds; a skip would pass for a skipped test of this file."""
    try:
        check_seeds_matter(env, **told)
    except (CheckFailed, CheckSkipped) as found:
        return f"{type(found).__name__}: {found}"
    return "passed"


@pytest.mark.slow
def test_unread_samples_say_nothing_and_the_options_that_would_are_named():
    outcomes = check_text_env(Guess, max_turns=TURNS)
    (outcome,) = [outcome for outcome in outcomes if outcome.name == "seeds_matter"]
    assert outcome.status == "skipped"
    assert outcome.message.startswith("needs the option 'answers': ")
    assert outcome.message.endswith("so does the option 'canonical'")


@pytest.mark.parametrize("told", TOLD)
def test_a_hidden_instance_is_seen_once_the_kit_is_told(told):
    assert message(Guess, **told) == "passed"


@pytest.mark.parametrize("told", TOLD)
def test_a_seed_without_effect_is_found_once_the_kit_is_told(told):
    found = message(OneSecret, **told)
    assert found.startswith("CheckFailed: the seeds [0, 1, 2, 3, ")
    assert "reset does not use its seed" in found


class TellsLegalActions(OneSecret):
    told_actions = NUMBERS

    def reset(self, **arguments):
        observation, info = super().reset(**arguments)
        return observation, {**info, "legal_actions": self.told_actions}


class TellsNone(TellsLegalActions):
    told_actions = ()


def test_legal_actions_in_info_are_enough():
    found = message(TellsLegalActions)
    assert "all give the same episode for the same answers" in found
    assert "'canonical'" in found
    assert message(TellsNone).startswith("CheckSkipped: needs the option 'answers'")


def test_without_answers_it_is_decided_by_what_shows():
    class Shows(Guess):
        def reset(self, **arguments):
            return f"It is {super().reset(**arguments) and self.secret}.", {}

    assert message(Shows) == "passed"
    assert message(Guess).startswith("CheckSkipped: needs the option 'answers'")


class AsksTheModule(Guess):
    def draw(self):
        return random.randint(1, 100)


class TruncatedIsNone(Guess):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        self.running = not terminated
        return observation, reward, terminated, None, info


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
    first_fast(
        [
            (AsksTheModule, {}, "global_random_not_read"),
            (TruncatedIsNone, {}, "flags"),
            (NeedsAWord, {}, "hostile_text"),
            (EmptySamples, {}, "hostile_text"),
            (Guess, {"oracle": wrong_oracle, "ceiling": 1.0}, "reset_and_step"),
        ]
    ),
)
def test_one_mistake_is_reported_once(env, options, found):
    with pytest.raises(CheckFailed) as failure:
        check_text_env(env, answers=NUMBERS, max_turns=TURNS, **options)
    assert failed(failure.value.outcomes) == [found]
