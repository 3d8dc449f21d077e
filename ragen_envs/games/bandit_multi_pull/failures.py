"""The bandit of many pulls: how the best arm was missed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.bandit_multi_pull.env import COLOURS, MultiPullEnv


class MultiPullFailures(FailureLabeler):
    """Labels episodes at the turn after which the best arm cannot get over half the pulls."""

    def read_state(self, env: MultiPullEnv) -> Hashable:
        return env.results, env.turns_left

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        return COLOURS[: len(episode.instance.percentages)]

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        chances = episode.instance.percentages
        best = COLOURS[chances.index(max(chances))]
        pulled = [step.actions[0] if step.actions else "" for step in episode.steps]
        others = max(pulled.count(name) for name in COLOURS if name != best)
        if best not in pulled:
            label = "never_explored"
        else:
            label = "settled_worse" if others >= pulled.count(best) else "explored_too_long"
        missed = [n for n, name in enumerate(pulled, start=1) if name != best]
        return Failure(label, missed[(episode.env.budget.max_actions + 1) // 2 - 1])
