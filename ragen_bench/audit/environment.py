"""The counts behind the guarantees: instances generated, solved, leaked, doubled and shipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ragen_bench.audit.oracle import Played, ceiling_problem, mean, play_oracle
from ragen_bench.audit.subjects import suite_subject
from ragen_bench.suites import has_split, held_out_size, make_env
from ragen_envs.cli.build_held_out import held_out_files
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.registration import find_game, load_class
from ragen_envs.testing import CHECKS, Outcome, run_checks

Advance = Callable[[int, str], None]
"""Called with the number of steps that were done, and with what is done next."""


@dataclass
class Audit:
    """The counts of one environment.

    Attributes:
        env: the id.
        levels: train instances that were generated.
        held_out: held-out instances that were looked at.
        unsolved: instances that the best player cannot win, or did not win though it should.
        leaked: train instances that equal a held-out one of the game, up to symmetry or to the
            letter, and instances of any split whose content belongs to another one.
        doubled: held-out instances that occur a second time in their split.
        shipped: held-out instances that the package ships and that equal what the generators give.
        shortest, longest: optimal lengths, None for games without one.
        ceiling: mean expected score of the best player.
        oracle: what the oracle scored, one episode on each instance.
        checks: what the testing kit found.
        problems: a line for each broken guarantee, with an example; empty if all hold.
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

    def broke(self, guarantee: str, example: str) -> None:
        """Note a broken guarantee; only its first example is kept."""
        if not any(problem.startswith(f"{guarantee}:") for problem in self.problems):
            self.problems.append(f"{guarantee}: {example}")


def steps_of(env: str, levels: int, sealed: bool = False) -> int:
    """Return how many steps the audit of an environment advances by."""
    played, shipped = len(_splits(env, sealed)), len(SHIPPED_SPLITS)
    return levels + (played + shipped) * held_out_size(env) + len(CHECKS)


def _splits(env: str, sealed: bool) -> tuple[Split, ...]:
    """Return the held-out splits that are looked at."""
    splits: tuple[Split, ...] = (*SHIPPED_SPLITS, "sealed")
    return splits if sealed and has_split(env, "sealed") else SHIPPED_SPLITS


def audit_environment(env: str, levels: int, advance: Advance, sealed: bool = False) -> Audit:
    """Count what the suite guarantees of an environment, and run the testing kit on it.

    Args:
        env: its id.
        levels: how many train instances to generate.
        advance: called with the progress, `steps_of` steps in all.
        sealed: whether the sealed split is looked at too, where there is one.

    Raises:
        SealedKeyError: if the sealed split is looked at and there is no key.
    """
    audit = count_guarantees(env, levels, advance, sealed)
    advance(0, "checks of the kit")
    audit.checks = run_checks(suite_subject(env), lambda outcome: advance(1, outcome.name))
    for outcome in audit.checks:
        if outcome.status == "failed":
            audit.broke(outcome.name, outcome.message)
    return audit


def count_guarantees(env: str, levels: int, advance: Advance, sealed: bool = False) -> Audit:
    """Count what the suite guarantees of an environment; arguments as for `audit_environment`."""

    def step() -> None:
        advance(1, "")

    audit = Audit(env)
    size = held_out_size(env)
    advance(0, "held-out instances")
    held_out = [
        played for split in _splits(env, sealed) for played in play_oracle(env, split, size, step)
    ]
    advance(0, "train instances")
    train = list(play_oracle(env, "train", levels, step))
    audit.levels, audit.held_out = len(train), len(held_out)
    _count_splits(audit, train, held_out)
    _count_solved(audit, train + held_out)
    advance(0, "shipped files")
    _count_shipped(audit, advance)
    return audit


def _count_splits(audit: Audit, train: list[Played], held_out: list[Played]) -> None:
    """Count instances that are in two splits, or twice in one."""
    digests = {played.digest for played in held_out} | _digests_of_the_game(audit.env)
    texts = {played.observation for played in held_out}
    if len(texts) == 1:
        texts = set()  # the game does not show its instance at first
    for played in train + held_out:
        if played.part != played.split:
            audit.leaked += 1
            audit.broke("leaked", f"the content of {played} belongs to {played.part}")
        elif played.split == "train" and (played.digest in digests or played.observation in texts):
            audit.leaked += 1
            audit.broke("leaked", f"{played} is held out too")
    seen: set[tuple[str, str]] = set()
    for played in held_out:
        forms = {played.digest, played.observation} if texts else {played.digest}
        if any((played.split, form) in seen for form in forms):
            audit.doubled += 1
            audit.broke("doubled", f"{played} occurs earlier in its split")
        seen |= {(played.split, form) for form in forms}


def _digests_of_the_game(env: str) -> set[str]:
    """Return the content hashes of all shipped instances of the game's variants."""
    return {
        instance.digest
        for variant in find_game(env).variants
        for split in SHIPPED_SPLITS
        for instance in load_class(env).load_shipped(variant.name, split)
    }


def _count_solved(audit: Audit, played: list[Played]) -> None:
    """Count what was not won, and compare the oracle's mean score with the mean ceiling."""
    budget = make_env(audit.env, "train", "plain").budget
    for instance in played:
        beyond = instance.length is not None and instance.length > budget.max_actions
        if beyond or not instance.solved:
            audit.unsolved += 1
            scores = f"ceiling {instance.ceiling:g}, oracle {instance.score:g}"
            audit.broke("unsolved", f"{instance}: {scores}")
    lengths = [instance.length for instance in played if instance.length is not None]
    if lengths:
        audit.shortest, audit.longest = min(lengths), max(lengths)
    audit.ceiling = mean(instance.ceiling for instance in played)
    audit.oracle = mean(instance.score for instance in played)
    if problem := ceiling_problem(played):
        audit.broke("ceiling", problem)


def _count_shipped(audit: Audit, advance: Advance) -> None:
    """Regenerate the held-out files and compare them byte by byte."""
    for file in held_out_files([find_game(audit.env)], only=audit.env):
        if file.is_shipped:
            audit.shipped += held_out_size(audit.env)
        else:
            audit.broke("shipped", f"{file.path.name} is not what the generators give")
        advance(held_out_size(audit.env), "")
