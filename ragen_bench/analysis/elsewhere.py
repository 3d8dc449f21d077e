"""Truth of a run's claims on another instance's board, as a baseline.

"The goal is above me" is true of many boards, "the goal is two rows above me" of few. A model that
is rewarded for true claims may learn to make vague ones, so truth alone does not show that it
reads its board.
"""

from __future__ import annotations

from ragen_bench.analysis.claims import claims_of
from ragen_envs.core.scene import Scene


class TruthElsewhere:
    """Collects the thoughts and the boards of one environment's episodes."""

    def __init__(self) -> None:
        self._thoughts: list[tuple[int, int, str]] = []
        self._boards: dict[int, list[Scene]] = {}

    def add_boards(self, index: int, boards: list[Scene]) -> None:
        """Add the boards before each turn of an instance's first sample; empty without boards."""
        if boards:
            self._boards[index] = boards

    def add_thought(self, index: int, turn: int, thought: str) -> None:
        """Add a thought of any sample of an instance; turns are numbered from 1."""
        self._thoughts.append((index, turn, thought))

    def count_claims(self) -> dict[str, int]:
        """Return the numbers of claims that are "true" and "false" on the next instance's board.

        The last instance is followed by the first. The board is from the same turn, or from the
        last turn of a shorter game. Unread claims are omitted; with a single instance, all are.
        """
        indices = sorted(self._boards)
        following = dict(zip(indices, indices[1:] + indices[:1], strict=True))
        counts = {"true": 0, "false": 0}
        for index, turn, thought in self._thoughts:
            other = following.get(index, index)
            if other != index:
                boards = self._boards[other]
                for claim in claims_of(thought, boards[min(turn, len(boards)) - 1]).read:
                    counts["true" if claim.true else "false"] += 1
        return counts
