"""Counts behind the suite's guarantees: solved, leaked, duplicate and shipped instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ragen_bench.audit.oracle import OracleEpisode, describe_ceiling_error, mean, play_oracle
from ragen_bench.audit.subjects import suite_subject
from ragen_bench.suites import has_split, held_out_size, make_env
from ragen_envs.cli.build_held_out import held_out_files
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.registration import find_game, load_class
from ragen_envs.testing import CHECKS, Outcome, run_checks

Advance = Callable[[int, str], None]
"""Called with the number of finished steps and the name of the next one."""


@dataclass
class Audit:
    """Counts of one environment.

    Attributes:
        env: Id of the environment.
        levels: Number of train instances generated.
        held_out: Number of held-out instances checked.
        unsolved: Number of instances that cannot be won, or that the oracle failed to win.
        leaked: Number of train instances that equal a held-out one in text or up to symmetry, plus
            instances of any split whose content belongs to another split.
        doubled: Number of held-out instances that occur earlier in their split.
        shipped: Number of shipped held-out instances that the generators reproduce.
        shortest, longest: Range of optimal lengths; None for games without one.
        ceiling: Mean optimal score.
        oracle: Mean score of the oracle, with one episode per instance.
        checks: Outcomes of the testing kit.
        problems: One line with an example for each broken guarantee; empty if all hold.
    """

    env: str
    levels: int = 0
    held_out: int = 0
    unsolved: int = 0
    leaked: int = 0
    doubled: int = 0
    shipped: int = 0
    shortest: int | None = None
    longest: int | None = None
    ceiling: float = 0.0
    oracle: float = 0.0
    checks: tuple[Outcome, ...] = ()
    problems: list[str] = field(default_factory=list)

    def add_problem(self, guarantee: str, example: str) -> None:
        """Add a broken guarantee, unless it already has an example."""
        if not any(problem.startswith(f"{guarantee}:") for problem in self.problems):
            self.problems.append(f"{guarantee}: {example}")


def count_steps(env: str, levels: int, sealed: bool = False) -> int:
    """Return the number of progress steps in the audit of an environment."""
    splits = len(_splits(env, sealed)) + len(SHIPPED_SPLITS)
    return levels + splits * held_out_size(env) + len(CHECKS)


def _splits(env: str, sealed: bool) -> tuple[Split, ...]:
    splits: tuple[Split, ...] = (*SHIPPED_SPLITS, "sealed")
    return splits if sealed and has_split(env, "sealed") else SHIPPED_SPLITS


def audit_environment(env: str, levels: int, advance: Advance, sealed: bool = False) -> Audit:
    """Count the guarantees of an environment, and run the testing kit on it.

    Args:
        env: its id.
        levels: Number of train instances to generate.
        advance: Callback of progress, `count_steps` steps in total.
        sealed: Whether to include the sealed split, if the environment has one.

    Raises:
        SealedKeyError: If the sealed split is included and there is no key.
    """
    audit = count_guarantees(env, levels, advance, sealed)
    advance(0, "checks of the kit")
    audit.checks = run_checks(suite_subject(env), lambda outcome: advance(1, outcome.name))
    for outcome in audit.checks:
        if outcome.status == "failed":
            audit.add_problem(outcome.name, outcome.message)
    return audit


def count_guarantees(env: str, levels: int, advance: Advance, sealed: bool = False) -> Audit:
    """Count the guarantees of an environment; see `audit_environment` for the arguments."""

    def step() -> None:
        advance(1, "")

    audit = Audit(env)
    size = held_out_size(env)
    advance(0, "held-out instances")
    held_out = [
        episode for split in _splits(env, sealed) for episode in play_oracle(env, split, size, step)
    ]
    advance(0, "train instances")
    train = list(play_oracle(env, "train", levels, step))
    audit.levels, audit.held_out = len(train), len(held_out)
    _count_splits(audit, train, held_out)
    _count_solved(audit, train + held_out)
    advance(0, "shipped files")
    _count_shipped(audit, advance)
    return audit


def _count_splits(audit: Audit, train: list[OracleEpisode], held_out: list[OracleEpisode]) -> None:
    """Count instances in two splits, or twice in one split."""
    digests = {episode.digest for episode in held_out} | _shipped_digests(audit.env)
    texts = {episode.observation for episode in held_out}
    if len(texts) == 1:
        texts = set()  # the first observation does not depend on the instance
    for episode in train + held_out:
        is_held_out = episode.digest in digests or episode.observation in texts
        if episode.part != episode.split:
            audit.leaked += 1
            audit.add_problem("leaked", f"the content of {episode} belongs to {episode.part}")
        elif episode.split == "train" and is_held_out:
            audit.leaked += 1
            audit.add_problem("leaked", f"{episode} is held out too")
    seen: set[tuple[str, str]] = set()
    for episode in held_out:
        keys = {(episode.split, episode.digest)}
        if texts:
            keys.add((episode.split, episode.observation))
        if keys & seen:
            audit.doubled += 1
            audit.add_problem("doubled", f"{episode} occurs earlier in its split")
        seen |= keys


def _shipped_digests(env: str) -> set[str]:
    """Return the digests of all shipped instances of the game's variants."""
    return {
        instance.digest
        for variant in find_game(env).variants
        for split in SHIPPED_SPLITS
        for instance in load_class(env).load_shipped(variant.name, split)
    }


def _count_solved(audit: Audit, episodes: list[OracleEpisode]) -> None:
    """Count unsolved instances, and compare the oracle's mean score with the mean ceiling."""
    budget = make_env(audit.env, "train", "plain").budget
    for instance in episodes:
        too_long = instance.length is not None and instance.length > budget.max_actions
        if too_long or not instance.solved:
            audit.unsolved += 1
            scores = f"ceiling {instance.ceiling:g}, oracle {instance.score:g}"
            audit.add_problem("unsolved", f"{instance}: {scores}")
    lengths = [instance.length for instance in episodes if instance.length is not None]
    if lengths:
        audit.shortest, audit.longest = min(lengths), max(lengths)
    audit.ceiling = mean(instance.ceiling for instance in episodes)
    audit.oracle = mean(instance.score for instance in episodes)
    if problem := describe_ceiling_error(episodes):
        audit.add_problem("ceiling", problem)


def _count_shipped(audit: Audit, advance: Advance) -> None:
    """Regenerate the held-out files and compare them byte by byte."""
    for file in held_out_files([find_game(audit.env)], only=audit.env):
        if file.is_shipped:
            audit.shipped += held_out_size(audit.env)
        else:
            audit.add_problem("shipped", f"{file.path.name} is not what the generators give")
        advance(held_out_size(audit.env), "")
