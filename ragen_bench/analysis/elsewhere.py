"""How true a run's claims would be beside other instances, as they are if they say nothing.

"The goal is above me" is true of many boards, "the goal is two rows above me" of few. A model that
is rewarded for true claims may learn to make the first kind, so their truth alone does not tell
whether it looks at its board.
"""

from __future__ import annotations

from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.scene import Scene


class Elsewhere:
    """Collects the thoughts and the boards of one environment's episodes."""

    def __init__(self) -> None:
        self._thoughts: list[tuple[int, int, str]] = []
        self._boards: dict[int, dict[int, Scene]] = {}

    def add(self, index: int, sample: int, turn: int, thought: str, board: Scene) -> None:
        """Take a turn's thought and the board before it.

        Args:
            index: of the instance.
            sample: of the episode; the boards of sample 0 are those that others are judged on.
            turn: its number in the episode.
            thought: of the turn.
            board: where things are.
        """
        self._thoughts.append((index, turn, thought))
        if sample == 0:
            self._boards.setdefault(index, {})[turn] = board

    def truth(self) -> float | None:
        """Return the share of claims that are true on the next instance's board.

        After the last instance comes the first. The board is that before the turn of the same
        number, or before the last one if that game was shorter.

        Returns:
            The share, rounded to six digits; None without claims or with a single instance.
        """
        indices = sorted(self._boards)
        if len(indices) < 2:
            return None
        following = dict(zip(indices, indices[1:] + indices[:1], strict=True))
        true = read = 0
        for index, turn, thought in self._thoughts:
            if index in following:
                boards = self._boards[following[index]]
                claims = claims_of(thought, boards.get(turn, boards[max(boards)])).read
                true += sum(claim.true for claim in claims)
                read += len(claims)
        return round(true / read, 6) if read else None
