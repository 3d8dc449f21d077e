"""Functions that play an episode, and play it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from random import Random
from typing import Any

from ragen_envs.testing.episodes import PlayedEpisode
from ragen_envs.testing.player import Player
from ragen_envs.testing.subject import AnyEnv, Factory, Subject

LONGEST = 100
"""Turns after which the kit leaves an episode that nobody says an end of."""


def turns_of(subject: Subject, env: AnyEnv) -> int | None:
    """Return the turns in which an episode should end, or None if nobody says."""
    if subject.max_turns is not None:
        return subject.max_turns
    return env.spec.max_episode_steps if env.spec else None


def record(
    subject: Subject,
    seed: int,
    options: dict[str, Any] | None = None,
    choose: Callable[[Player], str] | None = None,
    factory: Factory | None = None,
) -> PlayedEpisode:
    """Play an episode on a new environment.

    Args:
        subject: the environment under test.
        seed: which episode.
        options: the other argument of `reset`.
        choose: the player; by default well-formed answers that the seed decides.
        factory: what makes the environment, if not the subject's.
    """
    with Player(factory or subject.make_env) as player:
        player.reset(seed, options)
        return finish(subject, player, choose)


def oracles(subject: Subject) -> tuple[Callable[[Player], str], ...]:
    """Return the subject's oracle as what chooses answers, if there is one."""
    oracle = subject.oracle
    if oracle is None:
        return ()
    return (
        lambda player: player.call(
            f"{player.at}: the option 'oracle'", partial(oracle, player.env)
        ),
    )


def finish(
    subject: Subject, player: Player, choose: Callable[[Player], str] | None = None
) -> PlayedEpisode:
    """Play on until the episode ends, or is longer than any should be."""
    rng = Random(f"answers {player.seed}")
    limit = turns_of(subject, player.env) or LONGEST
    while not player.ended and player.turn < limit:
        player.step(choose(player) if choose else player.choose(subject, rng))
    return player.episode


def replay(player: Player, episode: PlayedEpisode) -> PlayedEpisode:
    """Play the answers of an episode again, from its reset, as far as the episode lasts."""
    player.reset(episode.seed, episode.options)
    return follow(player, episode)


def follow(player: Player, episode: PlayedEpisode) -> PlayedEpisode:
    """Play the rest of the answers of an episode."""
    for answer in episode.answers[player.turn :]:
        if player.ended:
            break
        player.step(answer)
    return player.episode


def instance_of(subject: Subject, player: Player, seed: int) -> Hashable:
    """Reset, and return the canonical form of the instance.

    Raises:
        CheckSkipped: if nothing gives one.
    """
    player.reset(seed)
    what = f"seed {seed}: the option 'canonical'"
    return player.call(what, lambda: subject.instance(player.env, player.info))
