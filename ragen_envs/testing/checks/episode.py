"""Checks of rewards, flags and success, and of the end of episodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from numbers import Real
from random import Random

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from ragen_envs.testing.checks import check
from ragen_envs.testing.episodes import PlayedEpisode, PlayedStep
from ragen_envs.testing.failure import CheckSkipped, EnvironmentRaised, fail, lacks, quote
from ragen_envs.testing.player import LONGEST, Player, finish, oracles, record, replay, turns_of
from ragen_envs.testing.subject import AnyEnv, Subject, make

_ACCIDENTS = (AttributeError, TypeError, NameError, LookupError, SystemExit)
"""Errors of missing state, or that end the process; never counted as deliberate."""


def _episodes(subject: Subject) -> Iterator[PlayedEpisode]:
    """Play well-formed answers, the oracle's if there is one, and nonsense."""
    for seed in subject.seeds:
        for choose in (None, *oracles(subject)):
            yield record(subject, seed, choose=choose)
    for text in ("", "?"):
        try:
            yield record(subject, subject.seeds[0], choose=lambda _, text=text: text)  # type: ignore[misc]
        except EnvironmentRaised:
            continue  # check_hostile_text reports it


@check
def check_rewards(subject: Subject) -> None:
    """Rewards are finite real numbers."""
    for episode in _episodes(subject):
        for turn, step in enumerate(episode.steps):
            require_reward(step, f"seed {episode.seed}, turn {turn}")


def require_reward(step: PlayedStep, where: str) -> None:
    """Fail unless the reward of a step is a finite real number and not a bool."""
    reward = step.reward
    number = isinstance(reward, Real) and not isinstance(reward, bool)
    if not number or not math.isfinite(reward):
        fail(
            f"{where}: the reward is {reward!r}, a {type(reward).__name__}",
            "a comparison returned as reward, an array of one, None, or a division by zero.",
            "return float(...) of a finite number; 0.0 where there is nothing to reward.",
        )


@check
def check_flags(subject: Subject) -> None:
    """`terminated` and `truncated` are bools; NumPy's will do."""
    for episode in _episodes(subject):
        for turn, step in enumerate(episode.steps):
            require_flags(step, f"seed {episode.seed}, turn {turn}")


def require_flags(step: PlayedStep, where: str) -> None:
    """Fail unless both flags of a step are bools."""
    for name in ("terminated", "truncated"):
        flag = getattr(step, name)
        if not isinstance(flag, (bool, np.bool_)):
            fail(
                f"{where}: {name} is {flag!r}, a {type(flag).__name__}",
                "the value of an `and`/`or` chain, a count or None returned as a flag, or an "
                "info in its place.",
                "wrap it in bool(...), and return terminated before truncated.",
            )


@check
def check_success(subject: Subject) -> None:
    """`info["success"]` is a bool, False at reset, reported at the end, and stays True.

    True before the end is accepted: the episode may be won and go on.
    """
    key, episodes = subject.success, list(_episodes(subject))
    if not any(key in step.info for episode in episodes for step in episode.steps):
        lacks("success", f"no info has the key {key!r}")
    for episode in episodes:
        if problem := _unsound_success(episode, key):
            fail(
                f"seed {episode.seed}, {problem}",
                "the key tells of the last turn or of a stage of the game, and not of the "
                "episode; or it is not set in every branch.",
                "report in each info whether the episode is won by now, with a value that never "
                "goes back from True to False. Use another key for progress.",
            )


def _unsound_success(episode: PlayedEpisode, key: str) -> str | None:
    won = False
    for turn, step in enumerate(episode.steps):
        value = step.info.get(key, False)
        seen = f"turn {turn}: info[{key!r}]"
        if not isinstance(value, (bool, np.bool_)):
            return f"{seen} is {value!r}, a {type(value).__name__}, not a bool"
        if step.ended and key not in step.info:
            return f"{seen} is missing in the step that ends the episode, though told elsewhere"
        if value and turn == 0:
            return f"{seen} is True at reset, before anything was done"
        if won and not value:
            return f"{seen} is False after it was True"
        won = bool(value)
    return None


@check
def check_episode_ends(subject: Subject) -> None:
    """Every episode ends within the stated turns, whatever is answered."""
    with Player(subject.make_env) as player:
        limit = turns_of(subject, player.env)
    if limit is None:
        lacks("max_turns", "nothing says in how many turns an episode ends")
    for episode in (*_episodes(subject), outlast(subject, subject.seeds[0], limit)):
        if len(episode.answers) == limit and not episode.steps[-1].ended:
            fail(
                f"seed {episode.seed}: no end after {limit} turns, the last answer being "
                f"{episode.answers[-1]!r}",
                "only valid answers are counted as turns, or the budget is checked before it is "
                "used up.",
                "count every step, and return truncated=True in the last one.",
            )


@check
def check_step_before_reset(subject: Subject) -> None:
    """A step before the first reset raises an error that mentions reset."""
    with Player(subject.make_env) as other:
        other.reset(subject.seeds[0])
        answer = other.choose(subject, Random(0))
    with Player(subject.make_env) as player:
        refuse(player, answer, "before the first reset")


@check
def check_step_after_end(subject: Subject) -> None:
    """A step after the end raises an error that mentions reset, and a reset helps."""
    ended = limited = 0
    players = product(subject.seeds[:4], (None, *oracles(subject)))
    for seed, choose in players:
        with Player(subject.make_env) as player:
            player.reset(seed)
            episode = finish(subject, player, choose)
            if not player.ended:
                continue
            if ended_by_limit_alone(subject, episode):
                limited += 1
                continue
            ended += 1
            for _ in range(2):
                refuse(player, episode.answers[-1], f"seed {seed}: after the end")
            player.reset(seed)
            finish(subject, player)
    if not ended and limited:
        raise CheckSkipped(
            "Gymnasium's TimeLimit alone ended the episodes, and it refuses no step after that: "
            "an environment that counts its turns itself can"
        )
    if not ended:
        raise CheckSkipped(f"no episode ended within {LONGEST} turns: set the option 'max_turns'")


def ended_by_limit_alone(subject: Subject, episode: PlayedEpisode) -> bool:
    """Return whether only Gymnasium's TimeLimit ended the episode."""
    if episode.steps[-1].terminated:
        return False
    with Player(lambda: _without_limit(make(subject.make_env))) as player:
        replay(player, episode)
        return not player.ended


def _without_limit(env: AnyEnv) -> AnyEnv:
    if isinstance(env, TimeLimit):
        return _without_limit(env.env)
    if isinstance(env, gymnasium.Wrapper):
        env.env = _without_limit(env.env)
    return env


def refuse(player: Player, answer: str, when: str) -> None:
    """Fail unless a step raises a deliberate error whose text mentions reset."""
    remedy = "raise gymnasium.error.ResetNeeded('call reset() first') unless an episode is running."
    try:
        player.step(answer)
    except EnvironmentRaised as raised:
        if "reset" in str(raised.error).lower() and not isinstance(raised.error, _ACCIDENTS):
            return
        fail(
            f"{when}, step({quote(answer)}) raised {type(raised.error).__name__}: {raised.error}",
            "the error comes by accident, from state that is not there, and names no way out.",
            remedy,
        )
    fail(
        f"{when}, step({quote(answer)}) was accepted",
        "nothing notes whether an episode is running, so rewards are paid for one that is over.",
        remedy,
    )


NONSENSE = "?"
_TRIES = 8
"""Answers tried in a turn before the player gives up."""
_STEPS_A_TURN = 40
"""Maximum steps per turn, including those of replayed episodes."""


def outlast(subject: Subject, seed: int, turns: int) -> PlayedEpisode:
    """Play a deterministic subject as long as possible, and return the longest episode found.

    Every second answer is nonsense, so that what is not valid must be counted too. Where an answer
    ends the episode, the episode is played again up to there, and another one is tried.
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
        return False  # check_hostile_text reports it
    return not player.ended
