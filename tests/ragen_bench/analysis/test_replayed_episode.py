"""Steps: what was seen, what was left and what was run."""

from itertools import pairwise

import pytest

from ragen_bench.analysis import replay_episode
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.episodes.replay import Replayer, UnplayableError
from tests.ragen_bench.analysis.support import config, moves, played, record


def test_steps_hold_what_was_left_and_what_ran():
    # Seven actions are named and five may run; then one; then the level is solved by the second.
    episode = played("Sokoban", 1, [moves("LRLRLRR"), moves("L"), moves("UUDD")])
    found = [(s.number, s.turns_left, s.actions_left, len(s.actions)) for s in episode.steps]
    assert found == [(1, 5, 10, 5), (2, 4, 5, 1), (3, 3, 4, 2)]
    assert episode.steps[2].actions == ("Up", "Up")


def test_states_follow_each_other_and_are_those_of_the_game():
    episode = played("FrozenLake", 0, "oracle")
    assert episode.steps[0].before == episode.instance.start
    for one, other in pairwise(episode.steps):
        assert one.after == other.before
    squares = [step.after for step in episode.steps]
    shown = [turn.observation for turn in episode.record.turns[1:]]
    for square, text in zip(squares, [*shown, episode.record.final_observation], strict=True):
        grid = "\n".join(text.split("\n")[1:])
        assert grid[square] in "PX√"


def test_without_room_for_an_answer_there_is_no_step():
    assert played("Bandit", 0, ["Typist"]).steps[0].turns_left == 1
    found = record("Sokoban", 0, [""] * 5)
    found.turns.pop()
    with pytest.raises(UnplayableError, match="goes on after turn 4"):
        replay_episode(Replayer(config()), found, find_labeler("ragen/Sokoban-v0").read_state)
    found.outcome = "context_overflow"
    episode = replay_episode(Replayer(config()), found, find_labeler("ragen/Sokoban-v0").read_state)
    assert len(episode.steps) == 4
