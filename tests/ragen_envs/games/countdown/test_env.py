from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import FreeText
from ragen_envs.core.text_env import MAX_OBSERVATION
from ragen_envs.games.countdown.env import VARIANTS, CountdownVariant
from ragen_envs.games.countdown.generator import Generator
from tests.cases import examples
from tests.ragen_envs.games.countdown import reference
from tests.ragen_envs.support import blocks, make, state_in

TURNS = {"Countdown-v0": 5, "CountdownLarge-v0": 8}


def started(name="Countdown-v0", seed=0, form="plain"):
    """Deal 0 of the test split is 6, 7, 14 and 20 for 60."""
    env = make(name, split="test", response_format=form, render_mode="ansi")
    env.reset(seed=seed)
    return env


def test_the_variants():
    tiles = tuple(sorted([*range(1, 11)] * 2 + [25, 50, 75, 100]))
    budget = Budget(max_turns=5, max_actions_per_turn=1, max_actions=5, penalty=10)
    large = Budget(max_turns=8, max_actions_per_turn=1, max_actions=8, penalty=10)
    few = Generator(tuple(range(1, 26)), 4, 10, 99, 3, 20)
    assert {
        "Countdown-v0": CountdownVariant("Countdown-v0", few, budget),
        "CountdownLarge-v0": CountdownVariant(
            "CountdownLarge-v0", Generator(tiles, 6, 100, 999, 4, 200), large
        ),
    } == VARIANTS


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Odd: a turn has one expression, whose value comes first"):
        CountdownVariant("Odd", budget=Budget(5, 2, 5))
    with pytest.raises(ValueError, match="Long: there are up to 8 turns"):
        CountdownVariant("Long", budget=Budget(9, 1, 9))


def test_the_first_observation_in_full():
    assert make("Countdown-v0", split="test").reset(seed=0)[0] == (
        "You are playing Countdown: combine some of 4 numbers to give the target.\n"
        "Each turn, write one expression of whole numbers with +, -, *, / and parentheses. Each "
        "number may be used at most once for each time that it is listed, and need not be used.\n"
        "Values are exact. Fractions and numbers below zero are allowed on the way.\n"
        "You are told the value of each expression, how far it is from the target, and which "
        "numbers it did not use.\n"
        "You have 5 turns.\n"
        "\n"
        "Numbers: 6, 7, 14, 20. Target: 60.\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>EXPRESSION</answer>"
    )


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", TURNS)
def test_held_out_states_are_the_shipped_deals(name, split):
    env = make(name, split=split)
    for seed, (figures, [row]) in enumerate(blocks("countdown/deals", f"{name}-{split}.txt")):
        first, info = env.reset(seed=seed)
        numbers = ", ".join(row.split())
        assert state_in(first) == f"Numbers: {numbers}. Target: {figures['target']}."
        assert (info["solutions"], info["ceiling"]) == (float(figures["solutions"]), 1.0)
        assert info["nearest"] == min(
            abs(int(number) - int(figures["target"])) for number in row.split()
        )


def test_an_episode_in_full():
    env = started()
    told = [env.step(answer) for answer in ("20*(7-6)", " 14 - 6*7 ", "6 * 7 + 20", "(14-6/20)")]
    assert env.render() == (
        "Numbers: 6, 7, 14, 20. Target: 60.\n"
        "1. 20 * (7 - 6) = 20, 40 too low. Unused: 14.\n"
        "2. 14 - 6 * 7 = -28, 88 too low. Unused: 20.\n"
        "3. 6 * 7 + 20 = 62, 2 too high. Unused: 14.\n"
        "4. (14 - 6 / 20) = 137/10, 463/10 too low. Unused: 7."
    )
    assert [info["nearest"] for *_, info in told] == [40.0, 40.0, 2.0, 2.0]
    assert [info["used"] for *_, info in told] == [3.0, 3.0, 3.0, 3.0]
    observation, reward, terminated, truncated, info = env.step("20+6*7-14/7")
    assert observation.endswith("\n5. 20 + 6 * 7 - 14 / 7: there is no other 7 to use.")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("5 + 6", "5 + 6: there is no 5 to use."),
        ("6 + 6", "6 + 6: there is no other 6 to use."),
        ("7 / (20-6-14)", "7 / (20 - 6 - 14): it divides by zero."),
        ("sixty", "sixty: it is no expression."),
        ("6 * 7 || 20", "6 * 7 || 20: it is no expression."),
        ("(" * 10**6, f"{'(' * 100}: it is no expression."),
        ("6\u00b2 + \n7", "6? + 7: it is no expression."),
    ],
)
def test_expressions_that_cannot_be_used_cost_the_turn_alone(answer, line):
    env = started()
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation.splitlines()[2:] == [f"1. {line}"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["action_is_valid"], info["action_is_effective"]) == (True, False)
    assert (info["used"], info["turn"], info["actions_left"]) == (0.0, 1, 4)


@pytest.mark.parametrize("answer", ["", " \n", "EXPRESSION"])
def test_no_text_costs_a_penalty(answer):
    env = started()
    env.step("6 * 7")
    before = env.render()
    observation, reward, *_, info = env.step(answer)
    assert observation.partition("\n")[2] == before
    assert (reward, info["action_is_valid"], info["used"]) == (-0.1, False, 0.0)
    assert info["answer_is_example"] == (answer == "EXPRESSION")


def test_a_value_that_came_before_changes_nothing():
    env = started()
    assert env.step("6 + 14")[-1]["action_is_effective"]
    assert not env.step("20")[-1]["action_is_effective"]
    assert not env.step("14 + 6")[-1]["action_is_effective"]
    assert env.step("14 - 6")[-1]["action_is_effective"]


@given(st.sampled_from(list(TURNS)), st.integers(0, 255), st.integers(0, 63))
def test_listed_expressions_are_the_first_numbers_in_a_row(name, seed, choice):
    env = started(name, seed)
    assert len(set(env.legal_actions)) == 64
    text = env.legal_actions[choice]
    assert [part for part in text.split() if part.isdigit()] == [
        number.strip(",.") for number in env.render().split()[1:5]
    ]
    target = int(env.render().rstrip(".").rpartition(" ")[2])
    *_, info = env.step(text)
    away = abs(reference.worked_out(text) - target)
    assert (away == 0) == info["success"]
    assert info["nearest"] <= round(float(Fraction(away)), 9)


@settings(max_examples=examples(60))
@given(st.sampled_from(list(TURNS)), st.sampled_from(["train", "test"]), st.integers(0, 99))
def test_the_oracle_wins_at_once(name, split, seed):
    env = make(name, split=split, response_format="plain")
    env.reset(seed=seed)
    _, reward, terminated, _, info = env.step(*env.best_actions())
    assert (reward, terminated, info["score"], info["nearest"]) == (1.0, True, 1.0, 0.0)


def test_expressions_are_words_of_ones_own():
    env = started()
    assert env.free_text == FreeText("", "", 100)
    env.step(env.best_actions()[0])
    assert env.free_text is None


def test_the_longest_episode_fits_into_an_observation():
    env = make("CountdownLarge-v0", split="test")
    longest, _ = env.reset(seed=0)
    answer = "1+" * 49 + "11"
    for _ in range(8):
        observation, *_ = env.step(f"<think></think><answer>{answer}</answer>")
    assert len(observation) + len(longest) < MAX_OBSERVATION
