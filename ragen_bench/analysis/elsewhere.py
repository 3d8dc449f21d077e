"""How many of a run's claims would be true on another instance's board.

"The goal is above me" is true of many boards, "the goal is two rows above me" of few. A model that
is rewarded for true claims may learn to make the first kind, so their truth alone does not tell
whether it looks at its board.
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
        """Take the boards before each turn of an instance's first sample, none without a board."""
        if boards:
            self._boards[index] = boards

    def add_thought(self, index: int, turn: int, thought: str) -> None:
        """Take a thought in the turn of this number, from 1, of any sample of an instance."""
        self._thoughts.append((index, turn, thought))

    def counts(self) -> dict[str, int]:
        """Return how many claims are "true" and "false" on the next instance's board.

        After the last instance comes the first. The board is that before the turn of the same
        number, or before the last one if that game was shorter. Claims that cannot be judged there
        are left out, as they are on the board of their own; with a single instance all are.
        """
        indices = sorted(self._boards)
        following = dict(zip(indices, indices[1:] + indices[:1], strict=True))
        found = {"true": 0, "false": 0}
        for index, turn, thought in self._thoughts:
            other = following.get(index, index)
            if other != index:
                boards = self._boards[other]
                for claim in claims_of(thought, boards[min(turn, len(boards)) - 1]).read:
                    found["true" if claim.true else "false"] += 1
        return found
