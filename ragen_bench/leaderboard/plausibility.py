"""Signs that an entry's answers are not what its model said to each observation by itself.

None of them refuses an entry: a verified entry is one whose figures follow from its answers, and
who gave the answers no replay can tell. `verify` prints the signs, and the site shows them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ragen_bench.environments import why_reference
from ragen_bench.leaderboard.scripted import SCRIPTED
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_envs.core.player import Player
from ragen_envs.core.sums import sum_in_order

RARE = 1e-4
"""A chance below this is a sign."""
_ENOUGH = 20
"""Comparisons below this say nothing."""
_PLAN = 3
"""Actions in a plan that others than the oracle may well have put otherwise."""


@dataclass(frozen=True)
class Sign:
    """Something that makes an entry less plausible.

    Attributes:
        name: of the sign, in a word.
        said: what was seen, in numbers.
    """

    name: str
    said: str


class Plausibility:
    """Looks at the replayed episodes of one entry, one after the other.

    Args:
        config: the content of run.json.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._judged = config.model not in SCRIPTED
        self._own = config.model.startswith("python:")
        self._best: list[str] = []
        self._solved: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._latest: tuple[str, int, str] | None = None
        self._pairs = self._same = self._plans = self._oracles = 0
        self._answers = self._uncounted = self._cut_short = 0

    def begin(self, player: Player) -> None:
        """See what the oracle would do first in the episode that begins."""
        self._best = list(player.best_actions()) if self._judged else []

    def look(self, episode: EpisodeRecord) -> None:
        """Look at an episode that is equal to its replay, in the order of the entry."""
        if not self._judged:
            return
        if episode.ceiling is not None and episode.score is not None:
            self._solved[episode.env].append((episode.score, episode.ceiling))
        for turn in episode.turns:
            self._answers += 1
            self._uncounted += turn.prompt_tokens == turn.completion_tokens == 0
            short = 0 < turn.completion_tokens < self._config.max_tokens
            self._cut_short += turn.finish == "length" and short
        if not episode.turns:
            return
        if len(self._best) >= _PLAN:
            self._plans += 1
            self._oracles += episode.turns[0].actions == self._best
        answer = episode.turns[0].answer
        if self._latest and self._latest[:2] == (episode.env, episode.index):
            self._pairs += 1
            self._same += answer == self._latest[2]
        else:
            self._latest = episode.env, episode.index, answer

    def signs(self) -> list[Sign]:
        """Return what was seen in all episodes."""
        found = [*self._above_ceiling()]
        if not self._own and self._answers and self._uncounted == self._answers:
            said = f"none was counted in {self._answers:,} answers of a language model"
            found.append(Sign("tokens", said))
        if not self._own and self._cut_short:
            said = (
                f"{self._cut_short:,} answers are said to be cut at {self._config.max_tokens} "
                "tokens, and have fewer"
            )
            found.append(Sign("cut", said))
        if self._config.temperature > 0 and self._pairs >= _ENOUGH and self._same == self._pairs:
            said = (
                f"all {self._pairs:,} further samples of an instance begin with the same answer as "
                f"the first, at temperature {self._config.temperature:g}"
            )
            found.append(Sign("samples", said))
        if self._plans >= _ENOUGH and self._oracles == self._plans:
            said = (
                f"all {self._plans:,} first answers for which the oracle has a plan of {_PLAN} "
                "actions or more are that plan, where others may be as good"
            )
            found.append(Sign("oracle", said))
        return found

    def _above_ceiling(self) -> Iterable[Sign]:
        """Yield the environments in which more was solved than the best player would by chance.

        A reference player may be beaten, so more than it solves is no sign.
        """
        for env, episodes in self._solved.items():
            if why_reference(env) or not all(score in (0.0, 1.0) for score, _ in episodes):
                continue
            solved = sum(score == 1.0 for score, _ in episodes)
            chance = at_least(solved, [ceiling for _, ceiling in episodes])
            if chance < RARE:
                best = sum_in_order(ceiling for _, ceiling in episodes)
                yield Sign(
                    "ceiling",
                    f"{env}: {solved:,} of {len(episodes):,} episodes are solved, where the best "
                    f"player solves {best:.1f} on average, and as many by a chance of {chance:.1g}",
                )


def at_least(solved: int, chances: Iterable[float]) -> float:
    """Return the chance that so many independent episodes or more are solved.

    The distribution of their number (Poisson's binomial) is exact, by adding one after the other.

    Args:
        solved: how many.
        chances: of each, between 0 and 1.
    """
    numbers = np.ones(1)
    for chance in chances:
        numbers = np.append(numbers * (1 - chance), 0.0) + np.append(0.0, numbers * chance)
    return float(min(numbers[solved:].sum(), 1.0))
