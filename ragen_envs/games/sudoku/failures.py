"""Sudoku: wrong entries that stayed, and a budget that ran out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.sudoku.rules import DIGITS, EMPTY, Puzzle, repeats_digit, replace_digit
from ragen_envs.games.sudoku.text import list_entries


class SudokuFailures(FailureLabeler):
    """Labels episodes of Sudoku; a state is the grid."""

    def read_state(self, env: Any) -> Hashable:
        grid: str = env.grid
        return grid

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the first turn with a wrong entry that stayed until the end, if there is one."""
        puzzle: Puzzle = episode.instance
        entries, grid = list_entries(puzzle.size), puzzle.givens
        made: dict[int, tuple[int, bool]] = {}
        for step in episode.steps:
            for name in step.actions:
                cell, number = divmod(entries.index(name), puzzle.size)
                after = replace_digit(grid, cell, DIGITS[number])
                if puzzle.givens[cell] == EMPTY and after != grid:
                    grid = after
                    made[cell] = step.number, not repeats_digit(grid, cell)
        wrong = [entry for cell, entry in made.items() if grid[cell] != puzzle.solution[cell]]
        if not wrong:
            return None
        turn, is_new = min(wrong)
        return Failure("wrong_digit" if is_new else "repeated_digit", turn)

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn after which the budget could not hold the other entries."""
        solution, per_turn = episode.instance.solution, episode.env.budget.max_actions_per_turn
        for step in episode.steps:
            needed = sum(a != b for a, b in zip(step.after, solution, strict=True))
            in_turns = (step.turns_left - 1) * per_turn
            if needed > min(in_turns, step.actions_left - len(step.actions)):
                return Failure("out_of_budget", step.number)
        raise AssertionError("a failed episode has a turn after which it could not be won")

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        return list_entries(episode.instance.size)
