"""Episodes of the oracle, with the expected score of each instance."""

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
"""Tolerance to 1 of a ceiling that means a certain win."""


@dataclass(frozen=True)
class OracleEpisode:
    """An instance and the oracle's score on it.

    Attributes:
        split: Split of the instance.
        seed: Index of the instance in the split.
        part: Split that its content belongs to.
        digest: Content hash.
        observation: First observation.
        length: Optimal length; None in games without one.
        ceiling: Expected score of the oracle.
        score: Score of the oracle in one episode.
        exact: Whether the ceiling is the optimal score, not the estimate of a reference player.
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
    """Yield an episode of the oracle on each of a split's first instances.

    Args:
        env: Id of the environment.
        split: Split of the instances.
        count: Number of instances.
        on_played: Called after each episode.
    """
    player = make_text_env(env, split, "plain")
    for seed in range(count):
        observation, info = player.reset(seed=seed)
        yield OracleEpisode(
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


def describe_ceiling_error(episodes: Sequence[OracleEpisode]) -> str | None:
    """Return an error if the oracle's mean score differs significantly from the mean ceiling.

    The probability of a false alarm is below one in a million.
    """
    score = mean(episode.score for episode in episodes)
    ceiling = mean(episode.ceiling for episode in episodes)
    if tail(len(episodes), score, ceiling) >= FALSE_ALARM / 2:
        return None
    return (
        f"the oracle's mean is {score:.4f} in {len(episodes)} episodes where the mean ceiling is "
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
