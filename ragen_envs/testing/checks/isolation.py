"""Checks that an environment and the rest of the process do not affect each other."""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_envs.testing.checks import check
from ragen_envs.testing.episodes import PlayedEpisode, first_difference, freeze
from ragen_envs.testing.failure import blaming, fail
from ragen_envs.testing.global_random import borrow, make_state
from ragen_envs.testing.player import Player, finish, record, replay
from ragen_envs.testing.subject import Subject

_THREADS = 4
_ROUNDS = 3
_OWN_GENERATOR = (
    "draw from self.np_random. Around a library that cannot, save the state of both global "
    "generators before each of its calls, install one of your own, and put the first back."
)


@check
def check_global_random_not_written(subject: Subject) -> None:
    """No call changes the state of `random` or `numpy.random`."""
    for seed in subject.seeds:
        with Player(subject.make_env) as player:
            player.reset(seed)
            finish(subject, player)
        if player.writes:
            what, names = player.writes[0]
            at = "" if what.startswith("seed") else f"seed {seed}: "
            fail(
                f"{at}{what} changed the state of {' and '.join(names)}",
                f"random.seed(seed) or np.random.seed(seed), or draws such as random.choice(...): "
                f"{len(player.writes)} calls of this episode did. It changes every other user of "
                "the generator, a training loop's shuffling included.",
                _OWN_GENERATOR,
            )


@check
def check_global_random_not_read(subject: Subject) -> None:
    """An episode does not depend on how `random` and `numpy.random` are seeded."""
    for seed in subject.seeds:
        episode = record(subject, seed)
        for globals_seed in (1, 2, 3):
            with Player(subject.make_env, globals_seed) as player:
                again = replay(player, episode)
            if difference := first_difference(episode.parts, again.parts):
                fail(
                    f"seed {seed}, {difference} (the same seed under two "
                    "states of the modules random and numpy.random)",
                    "random.choice(...) or np.random.rand(...) instead of a generator of the "
                    "environment, here or in a library that it calls.",
                    _OWN_GENERATOR,
                )


@check
def check_two_in_turns(subject: Subject) -> None:
    """Two environments that are stepped in turns play as each would alone."""
    why = (
        "state in a class attribute, a module variable, a mutable default argument or one shared "
        "cached object.",
        "set all state on self, in __init__ and reset.",
    )
    pairs = zip(subject.seeds, [*subject.seeds[1:], subject.seeds[0]], strict=True)
    for seed, other_seed in pairs:
        alone = record(subject, seed), record(subject, other_seed)
        with blaming("not so alone", *why):
            both = _in_turns(subject, alone)
        for episode, together in zip(alone, both, strict=True):
            if difference := first_difference(episode.parts, together.parts):
                fail(
                    f"seed {episode.seed}, {difference} (alone, then in turns with a second "
                    "environment)",
                    *why,
                )


def _in_turns(
    subject: Subject, episodes: tuple[PlayedEpisode, PlayedEpisode]
) -> list[PlayedEpisode]:
    with Player(subject.make_env) as first, Player(subject.make_env) as second:
        players = first, second
        for player, episode in zip(players, episodes, strict=True):
            player.reset(episode.seed)
        for turn in range(max(len(episode.answers) for episode in episodes)):
            for player, episode in zip(players, episodes, strict=True):
                if turn < len(episode.answers) and not player.ended:
                    player.step(episode.answers[turn])
        return [player.episode for player in players]


@check
def check_two_in_threads(subject: Subject) -> None:
    """Environments in several threads play as each would alone."""
    why = (
        "a module variable, a shared cache or a global generator that is used within one call "
        "while another thread uses it too.",
        "keep working state in local variables and on self.",
    )
    expected = [record(subject, seed) for seed in subject.seeds]
    barrier = Barrier(_THREADS)

    def play(thread: int) -> list[tuple[PlayedEpisode, PlayedEpisode]]:
        turned = [*expected[thread % len(expected) :], *expected[: thread % len(expected)]]
        played = []
        try:
            for episode in turned * _ROUNDS:
                barrier.wait(timeout=60)
                with Player(subject.make_env, isolated=False) as player:
                    played.append((episode, replay(player, episode)))
        except BaseException:
            barrier.abort()  # or the other threads would wait for this one
            raise
        return played

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads take turns as often as they can
    try:
        with borrow(make_state(0)), ThreadPoolExecutor(_THREADS) as pool:
            running = [pool.submit(play, thread) for thread in range(_THREADS)]
            errors = [error for future in running if (error := future.exception())]
    finally:
        sys.setswitchinterval(usual)
    with blaming("not so alone", *why):
        for error in sorted(errors, key=lambda error: type(error).__name__ == "BrokenBarrierError"):
            raise error
    for alone, together in (pair for future in running for pair in future.result()):
        if difference := first_difference(alone.parts, together.parts):
            fail(
                f"seed {alone.seed}, {difference} (alone, then beside {_THREADS - 1} threads)",
                *why,
            )


@check
def check_info_is_the_callers(subject: Subject) -> None:
    """A caller may change an `info`; no later one changes, and an old one stays as it was."""
    for seed in subject.seeds:
        episode = record(subject, seed)
        with Player(subject.make_env) as player:
            player.reset(seed)
            _spoil(player.info)
            for answer in episode.answers:
                if player.ended:
                    break
                kept, was = player.info, freeze(player.info)
                player.step(answer)
                if freeze(kept) != was:
                    _shared(f"seed {seed}, turn {player.turn}: the step changed the info before it")
                _spoil(player.info)
            spoiled = player.episode
            again = replay(player, episode)
        for other in (spoiled, again):
            if difference := first_difference(episode.parts, other.parts):
                _shared(f"seed {seed}, {difference} (after the caller changed the infos before)")


def _shared(seen: str) -> None:
    fail(
        seen,
        "reset and step return self._info, or an info that holds a list of the environment.",
        "build a new dict for each step, with tuples or copies of what may change.",
    )


def _spoil(value: object) -> None:
    """Change all containers in a value, then their former contents; a cycle ends, too."""
    held: list[object] = []
    if isinstance(value, dict):
        held = list(value.values())
        value.clear()
        value["spoiled"] = True
    elif isinstance(value, (list, deque)):
        held = list(value)
        value.clear()
        value.append("spoiled")
    elif isinstance(value, tuple):
        held = list(value)
    elif isinstance(value, set):
        value.clear()
        value.add("spoiled")
    elif isinstance(value, bytearray):
        value[:] = b"spoiled"
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        held = _spoil_array(value)
    for inner in held:
        _spoil(inner)


def _spoil_array(array: NDArray[Any]) -> list[object]:
    """Change every entry of an array, and return the objects that it held."""
    if array.dtype.names:
        return [array[name] for name in array.dtype.names]
    if array.dtype == object:
        held = array.ravel().tolist()
        array.fill("spoiled")
        return list(held)
    for_blank, else_ = ("?", "") if array.dtype.kind in "SU" else (1, 0)
    array[...] = np.where(array == np.zeros((), array.dtype), for_blank, else_)
    return []
