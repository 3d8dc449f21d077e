"""Episodes of the oracle, and the counts behind the suite's guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ragen_bench.audit.subjects import suite_subject
from ragen_bench.environments import step_by_rule
from ragen_bench.statistics import mean
from ragen_bench.suites import has_split, held_out_size, make_env, make_text_env
from ragen_envs.cli.build_held_out import held_out_files
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.core.policies import blind_answer, oracle_answer
from ragen_envs.core.text_game import Info
from ragen_envs.registration import find_blind_script, find_game, find_reference, load_class
from ragen_envs.testing import CHECKS, Outcome, run_checks
from ragen_envs.testing.checks.oracle import FALSE_ALARM, tail

_EXACT = 1e-6
"""Tolerance to 1 of a ceiling that means a certain win."""


@dataclass(frozen=True)
class OracleEpisode:
    """An instance and the oracle's score on it.

    `seed` is the index of the instance in its split, `part` the split that its content belongs
    to. `length` is the optimal length; None in games without one. `ceiling` is the oracle's
    expected score, `score` that of one episode. `exact` is whether the ceiling is the optimal
    score, not the estimate of a reference player.
    """

    split: Split
    seed: int
    part: str
    digest: str
    observation: str
    length: int | None
    ceiling: float
    score: float
    exact: bool = True

    def __str__(self) -> str:
        return f"{self.split} seed {self.seed}"

    @property
    def solved(self) -> bool:
        """Whether it can be won, and was won if a win is certain; True if not exact."""
        if not self.exact:
            return True
        sure = self.ceiling > 1 - _EXACT
        return self.ceiling > 0 and (self.score > 1 - _EXACT or not sure)


def play_oracle(
    env: str, split: Split, count: int, on_played: Callable[[], None] = lambda: None
) -> Iterator[OracleEpisode]:
    """Yield an episode of the oracle on each of a split's first instances."""
    player = make_text_env(env, split, "plain")
    for seed in range(count):
        observation, info = player.reset(seed=seed)
        last: Info = {}
        while player.legal_actions:
            *_, last = step_by_rule(player, oracle_answer(player))
        yield OracleEpisode(
            split=split,
            seed=seed,
            part=player.get_instance(seed).part,
            digest=info["instance"],
            observation=observation,
            length=info.get("optimal_length"),
            ceiling=info["ceiling"],
            score=float(last["score"]),
            exact=not find_reference(env),
        )
        on_played()


def _play_blind(env: str, split: Split, count: int) -> Iterator[float]:
    """Yield the blind script's score on each of a split's first instances, if there is a script."""
    if script := find_blind_script(env):
        player = make_text_env(env, split, "plain")
        for seed in range(count):
            player.reset(seed=seed)
            last: Info = {}
            while player.is_running:
                *_, last = step_by_rule(player, blind_answer(player, script, player.turn))
            yield float(last["score"])


def describe_ceiling_error(episodes: Sequence[OracleEpisode]) -> str | None:
    """Return an error if the oracle's mean score differs from the ceiling (p < 1e-6)."""
    score = mean([episode.score for episode in episodes])
    ceiling = mean([episode.ceiling for episode in episodes])
    if tail(len(episodes), score, ceiling) >= FALSE_ALARM / 2:
        return None
    return (
        f"the oracle's mean is {score:.4f} in {len(episodes)} episodes where the mean ceiling is "
        f"{ceiling:.4f}"
    )


Advance = Callable[[int, str], None]
"""Called with the number of finished steps and the name of the next one."""


@dataclass
class Audit:
    """Counts of one environment.

    `leaked` counts train instances that equal a held-out one in text or up to symmetry, plus
    instances of any split whose content belongs to another split. `doubled` counts held-out
    instances that occur earlier in their split, `shipped` those that the generators reproduce.
    An instance is unsolved if it cannot be won, or the oracle failed to win. `shortest` and
    `longest` are optimal lengths; None for games without one. `ceiling` is the mean optimal
    score, `oracle` the oracle's mean score with one episode per instance, `blind` that of the
    blind script; None without one. `problems` has one line with an example for each broken
    guarantee.
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
    blind: float | None = None
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

    `advance` is the callback of progress, with `count_steps` steps in total. `sealed` includes
    the sealed split, if the environment has one.

    Raises:
        SealedKeyError: The sealed split is included and its key is missing.
        MissingInstancesError: The held-out instances have not been generated.
    """
    audit = count_guarantees(env, levels, advance, sealed)
    advance(0, "checks of the kit")
    audit.checks = run_checks(suite_subject(env), lambda outcome: advance(1, outcome.name))
    for outcome in audit.checks:
        if outcome.status == "failed":
            audit.add_problem(outcome.name, outcome.message)
    return audit


def count_guarantees(env: str, levels: int, advance: Advance, sealed: bool = False) -> Audit:
    """Count the guarantees of an environment; see `audit_environment`."""
    step = partial(advance, 1, "")
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
    counts = {"train": levels, **dict.fromkeys(_splits(env, sealed), size)}
    blind = [score for split, count in counts.items() for score in _play_blind(env, split, count)]
    audit.blind = mean(blind) if blind else None
    advance(0, "shipped files")
    # The held-out files are generated again and compared byte by byte.
    for file in held_out_files([find_game(env)], only=env):
        if file.is_shipped:
            audit.shipped += size
        else:
            audit.add_problem("shipped", f"{file.path.name} is not what the generators give")
        advance(size, "")
    return audit


def _count_splits(audit: Audit, train: list[OracleEpisode], held_out: list[OracleEpisode]) -> None:
    digests = {episode.digest for episode in held_out} | {
        instance.digest
        for variant in find_game(audit.env).variants
        for split in SHIPPED_SPLITS
        for instance in load_class(audit.env).load_shipped(variant.name, split)
    }
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
    audit.ceiling = mean([instance.ceiling for instance in episodes])
    audit.oracle = mean([instance.score for instance in episodes])
    if problem := describe_ceiling_error(episodes):
        audit.add_problem("ceiling", problem)
