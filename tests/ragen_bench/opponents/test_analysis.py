"""Two models in one game: why an episode failed, where another than the rule replied."""

import pytest

from ragen_bench.analysis import replay_episode
from ragen_bench.analysis.failures import find_failure, find_labeler
from ragen_bench.episodes.replay import Replayer
from ragen_bench.opponents.opponent import ModelPair
from ragen_envs.games.twenty_questions.knowledge.loader import load

from .support import GAME, Said, asks, finish

LETTERS = [f"Does its name contain {letter}?" for letter in "abcdefghijklmnopqrst"]
PUZZLING = [f"Quux blorp {letter}?" for letter in "abcdefghijklmnopqrst"]
GUESSES = [f"Is it a {name}?" for name in load().concepts if name != "birch tree"]


@pytest.mark.parametrize(
    ("questions", "reply", "wanted"),
    [
        (LETTERS, "Hm", ("mostly_unparsed", 1)),
        (PUZZLING, "Yes", ("never_guessed", 20)),
        (["Is it an animal?", *GUESSES[:19]], "Hm", ("wrong_guesses", 20)),
        (["Is it a plant?", *GUESSES[:19]], "Yes", ("ruled_out_guess", 2)),
    ],
)
def test_what_the_opponent_said_counts(tmp_path, questions, reply, wanted):
    """The word is "birch tree"."""
    pair = ModelPair(asks(*questions), Said(lambda _: reply), "plain")
    run = finish(tmp_path / "run", pair, samples=1, instances={GAME: 1})
    [episode] = run.episodes()
    found = find_failure(
        replay_episode(Replayer(run.config), episode, find_labeler(GAME).read_state)
    )
    assert (found.label, found.turn) == wanted
