"""A player that tries to outlast an episode, with answers that budgets forget to count."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ragen_envs.testing.episodes import PlayedEpisode
from ragen_envs.testing.failure import EnvironmentRaised
from ragen_envs.testing.play import replay
from ragen_envs.testing.player import Player
from ragen_envs.testing.subject import Subject

NONSENSE = "?"
_TRIES = 8
"""Answers that are tried in a turn before the player gives up."""
_STEPS_A_TURN = 40
"""Steps, those of episodes played again included, that it takes for each turn to be reached."""


def outlast(subject: Subject, seed: int, turns: int) -> PlayedEpisode:
    """Play as long as possible, at most so many turns, and return the longest episode found.

    Every second answer is nonsense, so that what is not valid must be counted too. Where an answer
    ends the episode, the episode is played again up to there, and another one is tried.

    Args:
        subject: the environment under test, which has to be deterministic.
        seed: which episode.
        turns: where to stop.
    """
    rng, spent = Random(f"outlast {seed}"), 0
    with Player(subject.make_env) as player:
        player.reset(seed)
        while player.turn < turns and spent < turns * _STEPS_A_TURN:
            before = player.episode
            for answer in _tries(subject, player, rng):
                spent += 1
                if _goes_on(player, answer):
                    break
                replay(player, before)
                spent += player.turn
            else:
                return before
        return player.episode


def _tries(subject: Subject, player: Player, rng: Random) -> Iterator[str]:
    if player.turn % 2:
        yield NONSENSE
    for _ in range(_TRIES):
        yield player.choose(subject, rng)


def _goes_on(player: Player, answer: str) -> bool:
    try:
        player.step(answer)
    except EnvironmentRaised:
        return False  # which is what check_hostile_text looks for
    return not player.ended
