"""The words around the states: the rules, the line on the last answer, and the form of answers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import feedback
from ragen_envs.core.wording import pluralize
from ragen_envs.games import frozen_lake, sokoban
from ragen_envs.games.bandit.names import BOLD, STEADY
from ragen_envs.games.bandit_multi_pull.env import COLOURS
from ragen_envs.games.frozen_lake.rules import ACTIONS as STEPS
from ragen_envs.games.sokoban.rules import ACTIONS as MOVES
from ragen_envs.games.webshop.pages import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES
from ragen_envs.games.webshop.text import rules
from tests.ragen_envs.support import DESK, IDS, WEBSHOP, make

ACTIONS = {name.lower() for name in (*MOVES, *STEPS, *COLOURS, *BOLD, *STEADY)}
OF_A_CUBE = {"up", "right", "down", "left", "blue", "green", "red", "yellow"}
"""The names of its faces and colours, which are moves and arms of other games."""
LABELS = {f"click[{label}]" for label in (BACK, BUY, NEXT, PREVIOUS, *SUB_PAGES)}


def frame(id_: str) -> str:
    """Return all that a player reads but boards, pages of a shop, and what names the actions."""
    env = make(id_)
    told = [env.reset(seed=1)[0], env.step("no form")[0]]
    if id_.rpartition("/")[2] in WEBSHOP:
        told = [rules("rich", 9), told[1].partition("\n")[0], told[0].rpartition("\n\n")[2]]
    if id_.rpartition("/")[2] in DESK:  # without the request, which names people by their work
        told = [*told[0].split("\n\n")[::2], told[1].partition("\n")[0]]
    lines = "\n".join(told).splitlines()
    named = "Actions: ", "Wins so far: "
    return "\n".join(line for line in lines if " " in line and not line.startswith(named))


@pytest.mark.parametrize("id_", IDS)
def test_no_word_of_a_frame_is_an_action_of_any_game(id_):
    words = set(re.findall(r"[a-z]+", frame(id_).lower()))
    assert {"exactly", "remaining", "reward"} <= words
    assert not words & ACTIONS - (OF_A_CUBE if "Cube" in id_ else set())
    if id_.rpartition("/")[2] not in WEBSHOP:
        assert not {action for action in LABELS if action in frame(id_)}


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5), st.booleans(), st.booleans())
def test_no_word_of_the_line_on_an_answer_is_an_action(turns, actions, dropped, form, known):
    line = feedback((("Up",), (), dropped, form, known, -10, turns, actions))
    assert not set(re.findall(r"[a-z]+", line.lower())) & ACTIONS
    assert line.endswith(f"Remaining: {pluralize(turns, 'turn')}, {pluralize(actions, 'action')}.")


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (11, "11 turns")]
)
def test_one_is_singular(number, told):
    assert pluralize(number, "turn") == told


def test_a_budget_is_told_in_the_singular_too():
    assert Budget(1, 1, 1).sentence == "You have 1 turn, with at most 1 action each and 1 in all."
    assert Budget().sentence == "You have 5 turns, with at most 5 actions each and 10 in all."
    for told in (
        sokoban.text.rules(sokoban.text.CLASSIC.legend, 1, Budget(1)),
        frozen_lake.text.rules(
            frozen_lake.text.CLASSIC.legend, frozen_lake.rules.Slip(1, 1), Budget(1)
        ),
    ):
        assert told.endswith("\nYou have 1 turn, with at most 5 actions each and 10 in all.")


def test_actions_that_were_not_run_are_told():
    ran, rest = (("Up",), (0,)), (True, True, 0, 1, 2)
    assert "Up. The last action was not run. Reward" in feedback((*ran, 1, *rest))
    assert "Up. The last 3 actions were not run. Reward" in feedback((*ran, 3, *rest))
