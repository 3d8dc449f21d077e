"""Checks of deep copies and pickles that are made in the middle of an episode."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

from ragen_envs.testing.checking import check
from ragen_envs.testing.episodes import PlayedEpisode, first_difference
from ragen_envs.testing.failure import EnvironmentRaised, fail
from ragen_envs.testing.player import Player, follow, record
from ragen_envs.testing.subject import AnyEnv, Subject

_EPISODES = 4


@check
def check_deepcopy(subject: Subject) -> None:
    """`copy.deepcopy` in mid-episode continues the same episode, independently of the original."""
    _check_copies(
        subject,
        copy.deepcopy,
        "copy.deepcopy",
        "a __deepcopy__ that shares a part, state outside the object, or an attribute such as a "
        "lock, a file or a generator object.",
        "keep state in plain attributes; write __deepcopy__ only to leave out caches.",
    )


@check
def check_pickle(subject: Subject) -> None:
    """A pickled environment continues the same episode, independently of the original."""
    _check_copies(
        subject,
        lambda env: pickle.loads(pickle.dumps(env)),
        "pickle",
        "an attribute that pickle cannot take, such as a lambda, a lock or an open file, a class "
        "made in a function, or a __getstate__ that drops state.",
        "use methods and functools.partial for lambdas, and open resources when first used.",
    )


def _check_copies(
    subject: Subject,
    copied: Callable[[AnyEnv], AnyEnv],
    what: str,
    mistake: str,
    remedy: str,
) -> None:
    for seed in subject.seeds[:_EPISODES]:
        episode = record(subject, seed)
        for copy_first in (True, False):
            try:
                difference = _difference(subject, episode, copied, copy_first)
            except EnvironmentRaised as raised:
                if "copying" not in raised.what:
                    raise
                difference = str(raised)
            if difference:
                fail(f"{what}: {difference}", mistake, remedy)


def _difference(
    subject: Subject, episode: PlayedEpisode, copied: Callable[[AnyEnv], AnyEnv], copy_first: bool
) -> str | None:
    with Player(subject.make_env) as player:
        player.reset(episode.seed, episode.options)
        for answer in episode.answers[: len(episode.answers) // 2]:
            player.step(answer)
        with player.twin(copied) as twin:
            order = [(twin, "the copy"), (player, "the original")]
            for which, name in order if copy_first else order[::-1]:
                difference = first_difference(episode.parts, follow(which, episode).parts)
                if difference:
                    where = "" if copy_first == (which is twin) else ", after the other played on"
                    return f"seed {episode.seed}, {difference} ({name} is the second{where})"
    return None
