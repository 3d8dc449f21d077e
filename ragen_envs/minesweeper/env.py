"""Minesweeper as a text environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragen_envs.budget import Budget
from ragen_envs.instances import Stream
from ragen_envs.minesweeper import text
from ragen_envs.minesweeper.generator import Generator
from ragen_envs.minesweeper.rules import GAME, Opening, open_after, shown
from ragen_envs.minesweeper.solver import Knowledge, Solver, ceiling, solver
from ragen_envs.minesweeper.text import HIT, names_of
from ragen_envs.protocol import ActionReader, Function
from ragen_envs.text_env import TextEnv

EXAMPLE = "SQUARE"
WON_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class MinesweeperVariant:
    """One environment of the family.

    Attributes:
        name: the id without its namespace; it also names the streams.
        generator: where the openings come from.
        budget: turns of one square each.

    Raises:
        ValueError: if a turn opens several squares, or the turns are fewer than the squares that
            there may be to open.
    """

    name: str
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20)

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: a turn opens one square, and shows it before the next")
        most = min(self.budget.max_turns, self.budget.max_actions)
        if most < self.generator.max_to_open:
            raise ValueError(
                f"{self.name}: there are up to {self.generator.max_to_open} squares to open, and "
                f"the budget has {most}; give the variant generator=Generator(max_to_open={most})"
            )


VARIANTS = {variant.name: variant for variant in (MinesweeperVariant("Minesweeper-v0"),)}


@lru_cache(maxsize=16)
def _reader(height: int, width: int) -> ActionReader:
    return ActionReader(names_of(height, width), EXAMPLE)


class MinesweeperEnv(TextEnv[MinesweeperVariant, Opening]):
    """Open all squares without a mine, by what the open ones tell of the others.

    | | |
    | --- | --- |
    | actions | A1, B1, ...: a square by its column and row, one a turn. To open an open square changes nothing and costs the turn. There are no flags: they would change nothing. |
    | rewards | +1 when all squares without a mine are open, else 0; -0.1 once for a turn with a broken form, no or an unknown square |
    | ends | terminated by a mine, or when all others are open; truncated after 20 turns, where there are at most 15 squares to open |
    | success | all squares without a mine are open |
    | instances | openings: boards of 4 or 5 rows and columns with 3 to 6 mines, on which a first square with no mine around it, what it opens and up to two more squares are open. They allow 2 to 150 layouts of mines. |
    | randomness | the layout of a rollout is one of those that the opening allows, all equally likely; after it nothing is random |
    | info | `ceiling`: the exact chance of success of the best player, who knows what is shown and nothing else. Of the square that the turn opened, exact over all layouts that were possible: `risk`, the chance of a mine on it; `least_risky`, 1 if no closed square had a lower one; `safe_square`, 1 if one was surely safe. All three are 0 if it opened none, as `action_is_effective` says. |
    | oracle | the best player, by dynamic programming over all that can be known: its square depends on what is shown alone |

    An instance is what the player sees first, so its content is public, its first square is safe,
    and its ceiling is an expectation over rollouts, as FrozenLake's is over slips: episodes of one
    instance differ in where the mines are. The splits have no opening in common up to the eight
    symmetries of the square. No split says anything about layouts, as a split of layouts would:
    all that an opening allows are played in each. Later in play, boards that began with different
    openings can look alike.

    The least risky square is not always the best one: the best player also weighs what a square
    would show. That is why `least_risky` measures calibration, and the oracle is not always 1 there.

    Rules are those of the game as it is known, with a first click that is safe and opens an area.
    Texts and instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Minesweeper-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0, options={"rollout": 3})
    observation, reward, terminated, truncated, info = env.step("B3")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = (
        "_known",
        "_least_risky",
        "_mines",
        "_neighbours",
        "_opening",
        "_risk",
        "_safe_square",
        "_solver",
        "_squares",
    )
    _solver: Solver
    _known: Knowledge
    variants = VARIANTS
    game = GAME
    held_out_files = "openings/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    functions = (
        Function("open", "Open a square.", "square", "Its column's letter and its row's number."),
    )

    @property
    def known(self) -> Knowledge:
        """What the player can know: the open squares, and the layouts that they allow.

        After a mine it is what was known before.
        """
        return self._known

    def _symbols(self) -> frozenset[str]:
        return frozenset()

    def candidates(self, stream: Stream) -> Iterator[Opening | None]:
        """Yield random openings."""
        return self.variant.generator(stream)

    def write_instance(self, instance: Opening) -> tuple[str, dict[str, object]]:
        """Return the board, with its mines and its ceiling."""
        figures = {"mines": instance.mines, "ceiling": f"{self._ceiling(instance):.9f}"}
        return instance.board, dict(figures)

    @staticmethod
    def read_instance(body: str, figures: dict[str, str]) -> Opening:
        """Return the opening of a board."""
        return Opening(body, int(figures["mines"]), float(figures["ceiling"]))

    def _begin(self, instance: Opening) -> ActionReader:
        self._opening = instance
        self._neighbours = instance.neighbours
        self._solver = solver(instance)
        self._known = known = self._solver.start
        self._mines = known.layouts[self._dynamics().below(len(known.layouts))]
        self._squares = instance.board.replace("\n", "")
        self._forget()
        return _reader(instance.height, instance.width)

    def _forget(self) -> None:
        """Set what `info` says of a turn that opens nothing."""
        self._risk = self._least_risky = self._safe_square = 0.0

    def _apply(self, action: int) -> tuple[int, bool]:
        known, mines = self._known, self._mines
        if known.opened >> action & 1:
            return 0, False
        mined = self._solver.mined(known)
        least = min(mined.values())
        self._risk = mined[action] / len(known.layouts)
        self._least_risky = float(mined[action] == least)
        self._safe_square = float(not least)
        if mines >> action & 1:
            self._squares = self._squares[:action] + HIT + self._squares[action + 1 :]
            self._terminated = True
            return 0, True
        opened = open_after(self._neighbours, mines, known.opened, action)
        self._squares = shown(self._neighbours, mines, opened)
        self._known = self._solver.after(known, self._squares, opened)
        if opened.bit_count() + self._opening.mines == len(self._squares):
            self._terminated = self._success = True
            return WON_POINTS, True
        return 0, True

    def _end_turn(self) -> None:
        if not self._effective:
            self._forget()

    def _details(self) -> dict[str, float]:
        return {
            "risk": self._risk,
            "least_risky": self._least_risky,
            "safe_square": self._safe_square,
        }

    def _rules(self) -> str:
        return text.rules(self.budget.max_turns)

    def _state(self) -> str:
        return text.board(self._squares, self._opening.width, self._opening.mines)

    def _oracle(self, instance: Opening) -> dict[str, float]:
        return {"ceiling": self._ceiling(instance)}

    def _ceiling(self, instance: Opening) -> float:
        return ceiling(instance) if instance.ceiling is None else instance.ceiling

    def _best_actions(self) -> tuple[str, ...]:
        names = names_of(self._opening.height, self._opening.width)
        return (names[self._solver.best_square(self._known)],)
