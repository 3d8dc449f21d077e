"""Failures: the base of each game's failure labeler, and the finished episodes that it reads.

`ragen_bench.analysis` replays episodes and asks the labeler of their game why they failed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragen_envs.core.scene import Scene


@dataclass(frozen=True)
class Failure:
    """Why an episode failed.

    The label is one of the game, or a common one such as "out_of_budget". The turn, from 1, caused
    the failure.
    """

    label: str
    turn: int


@dataclass(frozen=True, kw_only=True)
class FinishedTurn:
    """One turn of a finished episode.

    Attributes:
        number: Number of the turn, from 1.
        before: State that the player saw, as the labeler's `read_state` returned it.
        after: State at the end of the turn.
        turns_left: Responses that could still be given, this one included.
        actions_left: Actions that could still be run, before this turn.
        actions: The names of the actions that were run.
        effective: True if an action changed the state; None if the environment does not report it.
        terminated: True if the rules ended the episode in this turn; None if it is not reported.
    """

    number: int
    before: Any
    after: Any
    turns_left: int
    actions_left: int
    actions: tuple[str, ...]
    effective: bool | None
    terminated: bool | None


@dataclass(frozen=True, kw_only=True)
class FinishedEpisode:
    """One finished episode.

    Attributes:
        env: Environment of the same variant. Its own state is undefined.
        instance: Instance that was played.
        steps: Turns; may be empty.
        outcome: "success", "failure", "timeout" or "context_overflow".
    """

    env: Any
    instance: Any
    steps: Sequence[FinishedTurn]
    outcome: str


class FailureLabeler:
    """Finds why an episode of one game failed. Every method has a default.

    A failed episode gets the first label that fits: `find_decisive_failure`, turns without an
    action, loops and revisited states, `find_default_failure`.

    Attributes:
        reads_arithmetic: Check thoughts for equations, "3 * 8 = 24", in place of statements about
            the board.
    """

    reads_arithmetic: ClassVar[bool] = False

    def read_state(self, env: Any) -> Hashable:
        """Return the state of an environment; equal states must lead to equal futures.

        By default no state comes twice, since each turn leaves fewer turns.
        """
        turns: int = env.turns_left
        return turns

    def find_decisive_failure(self, _episode: FinishedEpisode) -> Failure | None:
        """Return the event that decided a failed episode, if there is one."""
        return None

    def find_excused_turns(self, _episode: FinishedEpisode) -> Collection[int]:
        """Return the numbers of the turns in which a right choice had bad luck."""
        return ()

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the failure of an episode that no other label fits."""
        return Failure("out_of_budget", len(episode.steps))

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        """Return the names of all actions, to read plans in thoughts; () if they vary."""
        return ()

    def build_scene(self, _episode: FinishedEpisode, _state: object) -> Scene | None:
        """Return where things stand in a state, to check statements; None without a board."""
        return None
