"""Checks that splits are disjoint, and that the rollouts of a seed differ in noise alone."""

from __future__ import annotations

from collections.abc import Hashable

from ragen_envs.testing.checking import check
from ragen_envs.testing.episodes import first_difference, without_info
from ragen_envs.testing.failure import fail, lacks, shorten
from ragen_envs.testing.player import Player, instance_of, record, replay
from ragen_envs.testing.subject import Subject

_ROLLOUTS = 8


def _instances(subject: Subject, split: str) -> list[Hashable]:
    """Return the canonical instance of each seed of a split."""
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
        instances = _instances(subject, split)
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
        for seed, instance in enumerate(_instances(subject, split)):
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
