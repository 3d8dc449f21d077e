"""The 2x2x2 cube as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.cube import text
from ragen_envs.games.cube.generator import Cube, Generator
from ragen_envs.games.cube.rules import GAME, MOVES, solved_form
from ragen_envs.games.cube.table import solution

EXAMPLE = "ACTION || ACTION"
SOLVED_POINTS = 100
"""In hundredths of reward."""
_READERS = {way: ActionReader(way.names, EXAMPLE) for way in (text.LETTERS, text.WORDS)}


@dataclass(frozen=True)
class CubeVariant:
    """One environment of the family; the solutions of its generator fit into the budget."""

    name: str  # id without its namespace; it also names the random stream of the instances
    generator: Generator = Generator()
    vocabulary: text.Vocabulary = text.CLASSIC
    notation: text.Notation = text.LETTERS
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        if self.notation not in _READERS:
            raise ValueError(f"{self.name}: notation is LETTERS or WORDS, got {self.notation!r}")
        self.budget.must_allow(self.name, self.generator.max_length)


VARIANTS = by_name(
    CubeVariant("Cube-v0"),
    CubeVariant(
        "CubeHard-v0",
        generator=Generator(min_length=7, max_length=9),
        budget=Budget(max_turns=10, max_actions_per_turn=5, max_actions=20),
    ),
    CubeVariant("CubeNewVocab-v0", vocabulary=text.NEW),
    CubeVariant("CubeMoves-v0", notation=text.WORDS),
)


class CubeEnv(TextEnv[CubeVariant, Cube]):
    """Turn the faces of a 2x2x2 cube until each has a single colour.

    | | |
    | --- | --- |
    | actions | U, U', U2, R, R', R2, F, F', F2: the Up, Right or Front face by a quarter clockwise, a quarter counterclockwise, or a half turn; in CubeMoves-v0 in words, such as "Up clockwise". A turn of another face equals a turn of the opposite face and a rotation of the whole cube. |
    | rewards | +1 when solved, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown action |
    | ends | terminated when solved; truncated after 5 turns or 10 actions (Hard: 10 turns, 20 actions) |
    | success | each face has a single colour, in any orientation of the cube |
    | instances | positions whose shortest solution has 1 to 6 moves (Hard: 7 to 9), in one of the 24 orientations. A half turn is one move. |
    | randomness | none: `noise_seed` has no effect |
    | info | `optimal_length` in moves, `ceiling` 1.0 |
    | oracle | a shortest solution, from a table of all 3,674,160 positions. The oracle and the train, sealed and drawn instances need the table. Its first use builds it by breadth-first search, in about a second; it takes 3.7 MB. |

    Two positions are equivalent if a rotation or a reflection maps one to the other. Up to
    equivalence there are 2, 5, 19, 68, 271 and 1,148 positions at distances 1 to 6 from solved, so
    256 different ones per split need distances above 4. The 68 positions at distance 4 are dealt to
    the splits, 17 each. A position farther away belongs to a split if all its shortest solutions
    pass through that split's positions, and to no split otherwise. The 26 positions within three
    moves, where all solutions end, belong to train. Shortest solutions of two splits therefore share
    no state until three moves are left. Held-out positions are four to nine moves from solved.

    | moves from solved | train | val | test | sealed | none |
    | --- | --- | --- | --- | --- | --- |
    | 1 to 3 | 26 | | | | |
    | 4 | 17 | 17 | 17 | 17 | 0 |
    | 5 | 70 | 61 | 57 | 68 | 15 |
    | 6 | 275 | 216 | 246 | 278 | 133 |

    Each number of moves is drawn with equal probability, and held-out instances do not repeat. So
    most held-out instances of Cube-v0 are six moves from solved, and the first ones are nearer.

    In RAGEN-2 (arXiv 2604.06268) cubes start at one move from solved, as they do here in training.
    Rules, texts and instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Cube-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("U || R' || F2")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = ("_solved", "_stickers", "_text")
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    # There are too few positions near the solved one for each variant to have its own.
    variants_share_instances = True
    held_out_files = "cubes/{name}-{split}.txt"
    stochastic = False
    example = EXAMPLE
    has_fixed_actions = True

    @property
    def position(self) -> str:
        """The cube's stickers, see `ragen_envs.games.cube.rules`."""
        return self._stickers

    @property
    def board(self) -> Board:
        return Board(text.HEIGHT, text.WIDTH, text.TILES, self.variant.notation.names)

    def tile_numbers(self) -> bytes:
        return text.tile_numbers(self._stickers)

    @property
    def extra_characters(self) -> frozenset[str]:
        return frozenset(self.variant.vocabulary.letters)

    def write_instance(self, instance: Cube) -> tuple[str, dict[str, object]]:
        return instance.stickers, {"optimal_length": instance.optimal_length}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Cube:
        return Cube(body, int(fields["optimal_length"]))

    def start_instance(self, instance: Cube) -> ActionReader:
        self._stickers = instance.stickers
        self._solved = solved_form(instance.stickers)
        self._text = ""
        return _READERS[self.variant.notation]

    def apply_action(self, action: int) -> tuple[int, bool]:
        self._stickers = stickers = "".join(MOVES[action](self._stickers))
        self._text = ""
        if stickers == self._solved:
            self.terminated = self.success = True
            return SOLVED_POINTS, True
        return 0, True

    def describe_rules(self) -> str:
        legend = self.choose_legend(self.variant.vocabulary.meaning)
        return text.rules(legend, self.variant.notation, self.budget)

    def render_state(self) -> str:
        if not self._text:  # rendered only after a move
            self._text = text.net(self._stickers, self.variant.vocabulary)
        return self._text

    def compute_oracle_info(self, instance: Cube) -> dict[str, float]:
        return {"ceiling": 1.0, "optimal_length": instance.optimal_length}

    def find_best_actions(self) -> tuple[str, ...]:
        moves = solution(self._stickers)[: self.actions_this_turn]
        return tuple(self.variant.notation.names[move] for move in moves)
