"""Episodes of the oracle: what it scored on instances, beside the best player's expected score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragen_bench.suites import make_text_env
from ragen_bench.two_player import step_by_rule
from ragen_envs.core.instances import Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.registration import find_reference
from ragen_envs.testing.checks.oracle import FALSE_ALARM, tail

_EXACT = 1e-6
"""A ceiling this close to 1 is a sure win, so the oracle has to win."""


@dataclass(frozen=True)
class Played:
    """An instance that was looked at, and one episode of the oracle on it.

    Attributes:
        split: where it comes from.
        seed: which one of the split.
        part: the split that its content belongs to.
        digest: its content hash.
        observation: the first one.
        length: its optimal length, None in games without one.
        ceiling: the best player's expected score.
        score: what the oracle scored.
        exact: whether the ceiling is one, and no estimate of what a reference player scores.
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
        """Whether it can be won, and was won if a win is sure; an estimate says neither."""
        if not self.exact:
            return True
        sure = self.ceiling > 1 - _EXACT
        return self.ceiling > 0 and (self.score > 1 - _EXACT or not sure)


def play_oracle(
    env: str, split: Split, count: int, on_played: Callable[[], None] = lambda: None
) -> Iterator[Played]:
    """Yield the first instances of a split, with an episode of the oracle on each.

    Args:
        env: the environment's id.
        split: where the instances come from.
        count: how many.
        on_played: called after each.
    """
    player = make_text_env(env, split, "plain")
    for seed in range(count):
        observation, info = player.reset(seed=seed)
        yield Played(
            split=split,
            seed=seed,
            part=player.get_instance(seed).part,
            digest=info["instance"],
            observation=observation,
            length=info.get("optimal_length"),
            ceiling=info["ceiling"],
            score=_score(player),
            exact=not find_reference(env),
        )
        on_played()


def ceiling_problem(played: Sequence[Played]) -> str | None:
    """Return what is wrong with the oracle's mean beside the mean ceiling, or None.

    A right oracle is blamed with a probability below one in a million.
    """
    score, ceiling = mean(each.score for each in played), mean(each.ceiling for each in played)
    if tail(len(played), score, ceiling) >= FALSE_ALARM / 2:
        return None
    return (
        f"the oracle's mean is {score:.4f} in {len(played)} episodes where the mean ceiling is "
        f"{ceiling:.4f}"
    )


def mean(values: Iterator[float]) -> float:
    """Return the mean of at least one value."""
    listed = list(values)
    return sum_in_order(listed) / len(listed)


def _score(env: TextEnv[Any, Any]) -> float:
    info: dict[str, Any] = {}
    while env.legal_actions:
        *_, info = step_by_rule(env, oracle_answer(env))
    return float(info["score"])
