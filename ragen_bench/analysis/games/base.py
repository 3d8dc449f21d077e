"""The base of each game's reading: its states, its causes of failure, where its things stand."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import ClassVar

from ragen_bench.analysis.claims import Claims, claims_of
from ragen_bench.analysis.failures import COMMON, Failure
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, State
from ragen_bench.analysis.scene import Scene
from ragen_bench.environments import AnyEnv


class Reading:
    """The part of the analysis that differs from game to game; every hook has a default.

    Attributes:
        labels: the game's own causes of failure, each with one sentence.
    """

    labels: ClassVar[Mapping[str, str]] = {}

    def state(self, env: AnyEnv) -> Hashable:
        """Return the state of an environment, equal where play would go on alike.

        By default no state comes twice: each turn leaves fewer turns.
        """
        return env.turns_left

    def decisive(self, _episode: ReplayedEpisode) -> Failure | None:
        """Return the event that decided a failed episode, before any common cause is looked for."""
        return None

    def excused(self, _episode: ReplayedEpisode) -> Collection[int]:
        """Return the numbers of the turns whose choice was right and whose outcome was bad luck."""
        return ()

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return the cause where no other fits."""
        return Failure("out_of_budget", len(episode.steps))

    def actions(self, _episode: ReplayedEpisode) -> Sequence[str]:
        """Return the names that may be answered, for plans in thoughts; () if they vary."""
        return ()

    def scene(self, _episode: ReplayedEpisode, _state: State) -> Scene | None:
        """Return where things stand, for claims about them; None if the game has no board."""
        return None

    def claims(self, thought: str, episode: ReplayedEpisode, state: State) -> Claims | None:
        """Return what a thought says that can be checked, by default where things are; or None."""
        scene = self.scene(episode, state)
        return None if scene is None else claims_of(thought, scene)

    def about(self, label: str) -> str:
        """Return the sentence of a label."""
        return {**COMMON, **self.labels}[label]
