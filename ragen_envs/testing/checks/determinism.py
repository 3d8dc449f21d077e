"""Checks that a seed gives one episode: again, after other episodes, and in other processes."""

from __future__ import annotations

from collections.abc import Hashable

from ragen_envs.testing.checking import check
from ragen_envs.testing.episodes import PlayedEpisode, first_difference, without_info
from ragen_envs.testing.failure import CheckSkipped, blaming, fail, lacks
from ragen_envs.testing.player import Player, instance_of, oracles, record, replay
from ragen_envs.testing.processes import HASH_SEEDS, played_elsewhere
from ragen_envs.testing.subject import Subject

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
    known = _instances(subject)
    if known is not None and len(known) == 1:
        fail(f"the seeds {list(subject.seeds)} all give the same instance", *_ONE_INSTANCE)
    if known is None and not _differ_in_play(subject):
        if not subject.oracle and not _answers_in_form(subject):
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


def _instances(subject: Subject) -> set[Hashable] | None:
    """Return the canonical form of each seed's instance, None without such a form."""
    try:
        with Player(subject.make_env) as player:
            return {instance_of(subject, player, seed) for seed in subject.seeds}
    except CheckSkipped:
        return None


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


def _answers_in_form(subject: Subject) -> bool:
    with Player(subject.make_env) as player:
        player.reset(subject.seeds[0])
        return subject.tells_answers(player.info)
