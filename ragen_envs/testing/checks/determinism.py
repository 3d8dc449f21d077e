"""Checks of seeds: one gives the same episode wherever it is played, and instances of one split.

Copies and pickles made in the middle of an episode continue it, and the rollouts of a seed differ
in noise alone.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Hashable
from contextlib import suppress

from ragen_envs.testing.checks import check
from ragen_envs.testing.episodes import PlayedEpisode, first_difference, without_info
from ragen_envs.testing.failure import (
    CheckSkipped,
    EnvironmentRaised,
    blaming,
    fail,
    lacks,
    shorten,
)
from ragen_envs.testing.player import Player, follow, instance_of, oracles, record, replay
from ragen_envs.testing.processes import HASH_SEEDS, played_elsewhere
from ragen_envs.testing.subject import AnyEnv, Subject

_COPIED = 4
"""Number of seeds whose episodes are copied."""
_ROLLOUTS = 8
_ONE_INSTANCE = (
    "reset does not use its seed, as when the level is drawn in __init__; or there is one instance "
    "only.",
    "draw the instance in reset from self.np_random. Where one instance is meant, leave this check "
    "out: skip=('seeds_matter',).",
)


def _with_rollouts(subject: Subject) -> list[PlayedEpisode]:
    """Return an episode of each seed, and one with another noise seed if the game takes one."""
    episodes = [record(subject, seed) for seed in subject.seeds]
    if subject.noise_options:
        episodes.append(record(subject, subject.seeds[0], subject.noise_options(3)))
    return episodes


@check
def check_same_seed_same_episode(subject: Subject) -> None:
    """Two new environments give the same episode for the same seed and answers."""
    for episode in _with_rollouts(subject):
        with Player(subject.make_env) as player:
            again = replay(player, episode)
        if difference := first_difference(episode.parts, again.parts):
            fail(
                f"seed {episode.seed}, {difference}",
                "a generator made without the seed, such as default_rng() or Random(), the "
                "clock, an id() or a counter in the module.",
                "draw everything from self.np_random after super().reset(seed=seed).",
            )


@check
def check_reset_forgets(subject: Subject) -> None:
    """An episode is the same after others, whole and broken off, on the same object."""
    why = (
        "reset leaves something of the last episode: a history or a list that grows, a cache, or "
        "a generator that is seeded only the first time.",
        "set every attribute that play changes in reset.",
    )
    expected = [record(subject, seed) for seed in subject.seeds]
    with Player(subject.make_env) as player, blaming("not so on a new object", *why):
        for episode in [*expected, *expected[::-1]]:
            again = replay(player, episode)
            if difference := first_difference(episode.parts, again.parts):
                fail(
                    f"seed {episode.seed}, {difference} (first on a new object, then after other "
                    "episodes on one)",
                    *why,
                )
            # The next reset comes in the middle of an episode.
            player.reset(subject.seeds[-1])
            player.step(expected[-1].answers[0])


@check
def check_same_seed_in_other_processes(subject: Subject) -> None:
    """New processes with other PYTHONHASHSEEDs play the episodes of this one."""
    expected = _with_rollouts(subject)
    for hash_seed, episodes in zip(HASH_SEEDS, played_elsewhere(subject, expected), strict=True):
        for here, there in zip(expected, episodes, strict=True):
            if difference := first_difference(here.parts, there):
                fail(
                    f"seed {here.seed}, {difference} (this process, then a new one with "
                    f"PYTHONHASHSEED={hash_seed})",
                    "hash() of a str, the order of a set, or state of this process such as its "
                    "id or working directory.",
                    "iterate over sorted(...) and lists, and hash with hashlib.",
                )


@check
def check_seeds_matter(subject: Subject) -> None:
    """Different seeds give different instances."""
    if len(set(subject.seeds)) < 2:
        raise CheckSkipped("needs the option 'seeds': at least two different ones")
    known: set[Hashable] | None = None
    with suppress(CheckSkipped), Player(subject.make_env) as player:  # without a canonical form
        known = {instance_of(subject, player, seed) for seed in subject.seeds}
    if known is not None and len(known) == 1:
        fail(f"the seeds {list(subject.seeds)} all give the same instance", *_ONE_INSTANCE)
    if known is None and not _differ_in_play(subject):
        with Player(subject.make_env) as player:
            player.reset(subject.seeds[0])
            in_form = subject.tells_answers(player.info)
        if not subject.oracle and not in_form:
            lacks(
                "answers",
                "the seeds look alike to samples of the action space, which the game may not have "
                "read. Answers in form may tell instances apart; so does the option 'canonical'",
            )
        mistake, remedy = _ONE_INSTANCE
        fail(
            f"the seeds {list(subject.seeds)} all give the same episode for the same answers",
            f"{mistake} Or the instances differ in what these answers do not bring to light.",
            f"{remedy} Where the seeds do differ, say in what: the option 'canonical', as "
            "lambda env: env.unwrapped.secret.",
        )


def _differ_in_play(subject: Subject) -> bool:
    """Return whether the answers to the first seed, or the oracle's, differ for another seed."""
    for choose in (None, *oracles(subject)):
        first = record(subject, subject.seeds[0], choose=choose)
        for seed in subject.seeds[1:]:
            with Player(subject.make_env) as player:
                again = replay(player, first._replace(seed=seed))
            if without_info(again.parts) != without_info(first.parts):
                return True
    return False


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
    for seed in subject.seeds[:_COPIED]:
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


def _instances_of_split(subject: Subject, split: str) -> list[Hashable]:
    seeds = range(subject.held_out.get(split, subject.split_seeds))
    with Player(subject.splits[split]) as player:
        return [instance_of(subject, player, seed) for seed in seeds]


@check
def check_splits_disjoint(subject: Subject) -> None:
    """No instance lies in two splits."""
    if len(subject.splits) < 2:
        lacks("splits", "two splits or more, as {'train': make_train, 'test': make_test}")
    seen: dict[Hashable, tuple[str, int]] = {}
    for split in subject.splits:
        instances = _instances_of_split(subject, split)
        for seed, instance in enumerate(instances):
            other, at = seen.get(instance, (split, seed))
            if other != split:
                fail(
                    f"seed {seed} of {split!r} is seed {at} of {other!r}: "
                    f"{shorten(repr(instance))}",
                    "splits are ranges of seeds or differ in their random stream only, so a small "
                    "space of instances, or its symmetric images, falls into both.",
                    "let a hash of the canonical instance decide to which split it belongs.",
                )
        seen.update({instance: (split, seed) for seed, instance in enumerate(instances)})


@check
def check_held_out_unique(subject: Subject) -> None:
    """No held-out split holds an instance twice."""
    if not subject.held_out:
        lacks("held_out", "the number of instances in each split, as {'test': 256}")
    for split in subject.held_out:
        seen: dict[Hashable, int] = {}
        for seed, instance in enumerate(_instances_of_split(subject, split)):
            if instance in seen:
                fail(
                    f"seeds {seen[instance]} and {seed} of {split!r} are the same instance: "
                    f"{shorten(repr(instance))}",
                    "instances are drawn anew for each seed, and a small space gives repeats.",
                    "keep the canonical forms drawn so far, and draw again where one returns.",
                )
            seen[instance] = seed


@check
def check_rollouts_share_first_observation(subject: Subject) -> None:
    """The rollouts of a seed begin with the same observation, byte for byte."""
    if subject.noise_options is None:
        lacks("noise_options", "the reset options of a noise seed, as lambda j: {'noise_seed': j}")
    with Player(subject.make_env) as player:
        for seed in subject.seeds:
            first = player.reset(seed, subject.noise_options(0))
            for j in range(1, _ROLLOUTS):
                step = player.reset(seed, subject.noise_options(j))
                if step.observation != first.observation:
                    fail(
                        f"seed {seed}, {first_difference([first.parts], [step.parts])} (rollout 0 "
                        f"against rollout {j})",
                        "instance and noise come from one stream, so that another rollout is "
                        "another instance.",
                        "seed two generators: (seed) for the instance, (seed, rollout) for the "
                        "noise.",
                    )


@check
def check_rollouts_differ_in_noise(subject: Subject) -> None:
    """The same answers to the same instance fare differently in different rollouts."""
    if not subject.stochastic:
        lacks("stochastic", "True for an environment with noise")
    if subject.noise_options is None:
        lacks("noise_options", "the reset options of a noise seed, as lambda j: {'noise_seed': j}")
    for seed in subject.seeds:
        first = record(subject, seed, subject.noise_options(0))
        for j in range(1, _ROLLOUTS):
            with Player(subject.make_env) as player:
                again = replay(player, first._replace(options=subject.noise_options(j)))
            if without_info(first.parts[1:]) != without_info(again.parts[1:]):
                return
    fail(
        f"{len(subject.seeds)} seeds with {_ROLLOUTS} rollouts each: the same answers always gave "
        "the same observations, rewards and flags",
        "the noise is seeded by the seed alone, so that all members of a group share it.",
        "seed the noise with (seed, rollout); if there is no noise, set stochastic=False.",
    )
