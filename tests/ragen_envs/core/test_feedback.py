import pytest

from ragen_envs.core.protocol import LINES, Lines, feedback
from tests.ragen_envs.support import make

NAMES = ("Up", "Left")


def test_lines_are_those_of_feedback_and_bounded():
    lines = Lines()
    for left in range(10_000):
        turn = NAMES, (0, 1), 1, True, False, -30, 4, left
        assert lines[turn] == lines[turn] == feedback(turn)
        assert f"Reward: -0.3. Remaining: 4 turns, {left} action" in lines[turn]
    assert 0 < len(lines) <= 4096


@pytest.mark.parametrize(("name", "kept"), [("Sokoban-v0", 1), ("Mastermind-v0", 0)])
def test_lines_of_many_names_are_not_kept(name, kept):
    env = make(name, response_format="plain")
    env.reset(seed=0)
    LINES.clear()
    observation, *_ = env.step(env.legal_actions[0])
    assert len(LINES) == kept
    assert observation.startswith(f"Done: {env.legal_actions[0]}. Reward: ")


def test_an_action_that_ends_with_a_stop_gets_no_further_one():
    names = ("Is it big?", "Tell me.", "Now!", "a dog", "\u2026")
    for place, told in enumerate(("Is it big?", "Tell me.", "Now!", "a dog.", "\u2026.")):
        turn = names, (place,), 0, True, True, -1, 4, 9
        assert feedback(turn) == f"Done: {told} Reward: -0.01. Remaining: 4 turns, 9 actions."
    assert feedback((names, (3, 0), 0, True, False, 0, 4, 9)).startswith(
        "Done: a dog, Is it big? What is not an action was skipped. Reward: 0."
    )
    assert feedback((names, (), 0, True, False, 0, 4, 9)).startswith("Done: nothing. What")
