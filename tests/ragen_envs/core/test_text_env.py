"""The turns, budgets and flags that all games share, on a game that is counted by hand."""

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from tests.ragen_envs.counting import ACTIONS, POINTS, CountEnv, count


def test_the_default_budget_is_that_of_ragen():
    assert Budget() == Budget(max_turns=5, max_actions_per_turn=5, max_actions=10, penalty=10)


def test_the_first_observation_has_rules_state_and_instructions():
    env = CountEnv("Count-v0")
    observation, info = env.reset(seed=3)
    assert observation == (
        f"Count.\n\n№ {env.number}\n\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>WORD || WORD</answer>"
    )
    assert info == {
        "success": False,
        "score": 0.0,
        "format_is_valid": False,
        "action_is_valid": False,
        "action_is_effective": False,
        "answer_is_example": False,
        "legal_actions": ACTIONS,
        "turn": 0,
        "actions_left": 10,
        "instance": "abc",
        "index": 3,
        "ceiling": 1.0,
    }


@pytest.mark.parametrize(
    ("answer", "told", "reward", "flags"),
    [
        # flags: format_is_valid, action_is_valid, action_is_effective, answer_is_example
        ("Up", "Done: Up. Reward: 0.01. Remaining: 4 turns, 9 actions.", 0.01, (1, 1, 1, 0)),
        ("stay", "Done: Stay. Reward: -0.1. Remaining: 4 turns, 9 actions.", -0.1, (1, 1, 0, 0)),
        (
            "Up || fly || Up",
            "Done: Up, Up. What is not an action was skipped. Reward: -0.08. "
            "Remaining: 4 turns, 8 actions.",
            -0.08,
            (1, 0, 1, 0),
        ),
        (
            "fly || swim",
            "Done: nothing. What is not an action was skipped. Reward: -0.1. "
            "Remaining: 4 turns, 10 actions.",
            -0.1,
            (1, 0, 0, 0),
        ),
        (
            "Stay || Stay || Stay || Stay || Stay || Stay || Up",
            "Done: Stay, Stay, Stay, Stay, Stay. The last 2 actions were not run. Reward: -0.5. "
            "Remaining: 4 turns, 5 actions.",
            -0.5,
            (1, 1, 0, 0),
        ),
        (
            "Up || Win || Up || Up",
            "Done: Up, Win. The last 2 actions were not run. Reward: 1.01. "
            "Remaining: 4 turns, 8 actions.",
            1.01,
            (1, 1, 1, 0),
        ),
        (
            "WORD || WORD",
            "Done: nothing. What is not an action was skipped. Reward: -0.1. "
            "Remaining: 4 turns, 10 actions.",
            -0.1,
            (1, 0, 0, 1),
        ),
    ],
)
def test_one_turn(answer, told, reward, flags):
    env = count()
    env.reset(seed=0)
    observation, got, _, _, info = env.step(answer)
    assert observation == f"{told}\n№ {env.number}"
    assert got == reward
    names = ("format_is_valid", "action_is_valid", "action_is_effective", "answer_is_example")
    assert tuple(info[name] for name in names) == flags


@pytest.mark.parametrize("answer", ["", "Up", "<answer>Up</answer>", "<think></think><answer>Up"])
def test_a_broken_form_costs_the_penalty_and_does_nothing(answer):
    env = count("think")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation == (
        "The answer was not in the required form, so nothing was done. Reward: -0.1. "
        f"Remaining: 4 turns, 10 actions.\n№ {env.number}"
    )
    assert (reward, terminated, truncated) == (-0.1, False, False)
    assert (info["format_is_valid"], info["action_is_valid"]) == (False, False)


answers = st.lists(
    st.lists(st.sampled_from([*ACTIONS[:2], "up", "fly", "", "Up", "Stay", "Win", "Lose"])).map(
        " || ".join
    )
    | st.just("WORD || WORD"),
    max_size=8,
)


@given(
    answers,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(0, 50),
    st.sampled_from(RESPONSE_FORMATS),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_accounts_agree_with_a_reference(
    texts, turns, per_turn, actions, penalty, response_format, breaks
):
    env = count(
        response_format,
        max_turns=turns,
        max_actions_per_turn=per_turn,
        max_actions=actions,
        penalty=penalty,
    )
    env.reset(seed=1)
    number, left, turn = env.number, actions, 0
    for text, broken in zip(texts, breaks, strict=False):
        broken = broken and response_format != "plain"
        words = [word.strip().capitalize() for word in text.split("||")]
        known = [] if broken else [word for word in words if word in ACTIONS]
        run = known[: min(per_turn, left)]
        ends = [i for i, word in enumerate(run) if word in ("Win", "Lose")]
        run = run[: ends[0] + 1] if ends else run
        valid = not broken and len(known) == len(words)
        points = sum(POINTS[word] for word in run) - (0 if valid else penalty)
        turn, left, number = turn + 1, left - len(run), number + run.count("Up")
        over = bool(ends)
        spent = not over and (turn == turns or left == 0)

        answer = "no tags" if broken else format_answer([text], response_format, "hm")
        observation, reward, terminated, truncated, info = env.step(answer)
        assert reward == points / 100
        assert (terminated, truncated) == (over, spent)
        assert observation.split("\n")[1] == f"№ {number}"
        assert info["turn"] == turn
        assert info["actions_left"] == left
        assert info["format_is_valid"] == (not broken)
        assert info["action_is_valid"] == valid
        assert info["action_is_effective"] == ("Up" in run)
        assert info["answer_is_example"] == (not broken and text == "WORD || WORD")
        assert info["success"] == ("Win" in run)
        assert info["score"] == float("Win" in run)
        assert info["legal_actions"] == (() if over or spent else ACTIONS)
        assert env.turns_left == turns - turn
        assert env.actions_this_turn == min(per_turn, left)
        assert observation in env.observation_space
        if over or spent:
            with pytest.raises(ResetNeeded):
                env.step(answer)
            return


def test_the_penalty_is_paid_once_a_turn():
    env = count(penalty=7)
    env.reset(seed=0)
    assert env.step("fly || fly || fly || Up || swim")[1] == -0.06
    assert env.step("Up")[1] == 0.01
    assert env.step("fly")[1] == -0.07


def test_points_add_up_exactly():
    env = count()
    env.reset(seed=0)
    assert env.step("Stay || Stay || Stay")[1] == -0.3  # not -0.30000000000000004


def test_the_rules_end_and_the_budgets_end():
    def ends(answers, **budget):
        env = count(**budget)
        env.reset(seed=0)
        return [env.step(answer)[2:4] for answer in answers][-1]

    assert ends(["Up"] * 4) == (False, False)
    assert ends(["Up"] * 5) == (False, True)
    assert ends(["fly"] * 5) == (False, True)
    assert ends(["Up || Up || Up || Up || Up"] * 2) == (False, True)
    assert ends(["Up"] * 4 + ["Lose"]) == (True, False)
    assert ends(["Up"] * 4 + ["Win"]) == (True, False)
    assert ends(["Up || Win"], max_actions_per_turn=1) == (False, False)
    assert ends(["Up || Win"], max_actions=1) == (False, True)


def test_step_needs_a_reset_before_and_after():
    env = count()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step("Up")
    env.reset(seed=0)
    env.step("Win")
    with pytest.raises(ResetNeeded):
        env.step("Up")
    env.reset(seed=0)
    assert env.step("Up")[1] == 0.01


@pytest.mark.parametrize("answer", [None, 0, b"Up", ["Up"], np.str_("Up").encode(), 1.5])
def test_an_answer_that_is_no_str_is_a_type_error(answer):
    env = count()
    env.reset(seed=0)
    with pytest.raises(TypeError, match=f"an answer is a str, got {type(answer).__name__}"):
        env.step(answer)
    assert env.step("Up")[4]["turn"] == 1


def test_a_str_of_numpy_is_a_str():
    env = count()
    env.reset(seed=0)
    assert env.step(np.str_("Up"))[1] == 0.01
