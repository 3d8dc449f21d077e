"""The table of environment ids. A new game is its folder and its lines here."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import gymnasium

NAMESPACE = "ragen"

_BANDIT = "ragen_envs.games.bandit.env:BanditEnv"
_MULTI_PULL = "ragen_envs.games.bandit.multi_pull:MultiPullEnv"
_SOKOBAN = "ragen_envs.games.sokoban.env:SokobanEnv"
_FROZEN_LAKE = "ragen_envs.games.frozen_lake.env:FrozenLakeEnv"
_WEBSHOP = "ragen_envs.games.webshop.env:WebShopEnv"
_TWENTY_QUESTIONS = "ragen_envs.games.twenty_questions.env:TwentyQuestionsEnv"
_CUBE = "ragen_envs.games.cube.env:CubeEnv"
_MINESWEEPER = "ragen_envs.games.minesweeper.env:MinesweeperEnv"
_MASTERMIND = "ragen_envs.games.mastermind.env:MastermindEnv"
_COUNTDOWN = "ragen_envs.games.countdown.env:CountdownEnv"
_DESK = "ragen_envs.games.desk.env:DeskEnv"
_MODEL = "ragen_envs.games.twenty_questions.model"


class Entry(NamedTuple):
    """A row of the table.

    Attributes:
        entry_point: the class that plays the variant.
        about: what it is, in a few words.
        reference: why the oracle is a reference player, whose score is no ceiling and may be
            beaten; "" where nobody can expect more than the oracle.
    """

    entry_point: str
    about: str
    reference: str = ""


class OpponentEntry(NamedTuple):
    """A row of the table of games that need an opponent.

    Attributes:
        entry_point: the class that Gymnasium makes, which asks a function for the opponent's part.
        about: what it is, in a few words.
        stepped_with: the class that is stepped with the opponent's texts, for a harness.
    """

    entry_point: str
    about: str
    stepped_with: str


TABLE = {
    "Bandit-v0": Entry(_BANDIT, "one pull; names hint at which of two arms is the high-risk one"),
    "BanditRev-v0": Entry(_BANDIT, "the same with the hint inverted"),
    "BanditMultiPull-v0": Entry(_MULTI_PULL, "five arms, twenty pulls, scored by regret"),
    "Sokoban-v0": Entry(_SOKOBAN, "6x6, one box"),
    "SokobanLarge-v0": Entry(_SOKOBAN, "8x8, two boxes"),
    "SokobanNewVocab-v0": Entry(_SOKOBAN, "6x6, one box, other symbols"),
    "SokobanCoord-v0": Entry(_SOKOBAN, "6x6, one box, with coordinates"),
    "FrozenLake-v0": Entry(_FROZEN_LAKE, "4x4, the intended way in one step of three"),
    "FrozenLakeMild-v0": Entry(_FROZEN_LAKE, "4x4, the intended way in eight steps of ten"),
    "FrozenLakeLarge-v0": Entry(_FROZEN_LAKE, "8x8, as slippery as FrozenLake-v0"),
    "FrozenLakeNewVocab-v0": Entry(_FROZEN_LAKE, "as FrozenLake-v0, other symbols"),
    "FrozenLakeCoord-v0": Entry(_FROZEN_LAKE, "as FrozenLake-v0, with coordinates"),
    "WebShop-v0": Entry(_WEBSHOP, "a request, a shop of 1,000 products, nine turns"),
    "WebShopFull-v0": Entry(_WEBSHOP, "as WebShop-v0, fifteen turns"),
    "WebShopText-v0": Entry(_WEBSHOP, "as WebShop-v0, pages in one line"),
    "TwentyQuestions-v0": Entry(_TWENTY_QUESTIONS, "find a word by asking in plain English"),
    "TwentyQuestionsNewCategories-v0": Entry(
        _TWENTY_QUESTIONS, "the same, held-out words of categories that training has none of"
    ),
    "Cube-v0": Entry(_CUBE, "2x2x2, one to six moves from solved"),
    "CubeHard-v0": Entry(_CUBE, "2x2x2, seven to nine moves from solved"),
    "CubeNewVocab-v0": Entry(_CUBE, "as Cube-v0, other letters"),
    "CubeMoves-v0": Entry(_CUBE, "as Cube-v0, moves in words"),
    "Minesweeper-v0": Entry(_MINESWEEPER, "4x4 to 5x5, three to six mines, some squares open"),
    "MinesweeperLarge-v0": Entry(
        _MINESWEEPER,
        "8x8, ten mines",
        reference="it opens the least risky square, and whoever also weighs what a square would "
        "show can do better; the best play on boards of this size is beyond exact search here",
    ),
    "Mastermind-v0": Entry(_MASTERMIND, "3 pegs, six colours, three guesses already answered"),
    "MastermindLarge-v0": Entry(_MASTERMIND, "4 pegs, six colours, two guesses already answered"),
    "Countdown-v0": Entry(_COUNTDOWN, "four numbers of 1 to 25, a target of two digits"),
    "CountdownLarge-v0": Entry(_COUNTDOWN, "six tiles of the television game, three digits"),
    "Desk-v0": Entry(_DESK, "a request, an office of five applications, thirteen tools"),
    "DeskShifting-v0": Entry(_DESK, "the same, and the user changes the request"),
    "DeskHostile-v0": Entry(_DESK, "the same, and some texts carry other instructions"),
}
"""The variants' names, which are the ids without their namespace."""

IDS = tuple(f"{NAMESPACE}/{name}" for name in TABLE)

OPPONENT_TABLE = {
    "TwentyQuestionsModel-v0": OpponentEntry(
        f"{_MODEL}:ModelEnv",
        "as TwentyQuestions-v0, another model answers",
        f"{_MODEL}:OpponentEnv",
    ),
}
"""Games that need an opponent: what they measure depends on it, so they belong to no suite."""

OPPONENT_IDS = tuple(f"{NAMESPACE}/{name}" for name in OPPONENT_TABLE)


def register_all() -> None:
    """Enter every id into Gymnasium's registry, with and without an opponent."""
    for name in (*TABLE, *OPPONENT_TABLE):
        gymnasium.register(
            f"{NAMESPACE}/{name}",
            f"ragen_envs.making:{name}",
            vector_entry_point="ragen_envs.core.vector:make",
            kwargs={"variant": name},
            # The environments check order and types themselves; wrappers would halve their speed.
            order_enforce=False,
            disable_env_checker=True,
        )


def reference_of(name: str) -> str:
    """Return why a variant's oracle is a reference player and no best one, see `Entry`.

    Args:
        name: the variant; one of your own has none, so its `ceiling` is taken at its word.
    """
    entry = TABLE.get(name)
    return entry.reference if entry else ""


def env_class(name: str) -> Any:
    """Return the class that plays a variant of the table.

    Raises:
        KeyError: if the table has no such name.
    """
    return _named(TABLE[name].entry_point)


def opponent_class(name: str) -> Any:
    """Return the class that plays a variant of `OPPONENT_TABLE` with the opponent's texts.

    Raises:
        KeyError: if that table has no such name.
    """
    return _named(OPPONENT_TABLE[name].stepped_with)


def made_class(name: str) -> Any:
    """Return the class that Gymnasium makes of a variant of either table.

    Raises:
        KeyError: if neither has such a name.
    """
    entry = OPPONENT_TABLE.get(name) or TABLE[name]
    return _named(entry.entry_point)


def _named(entry_point: str) -> Any:
    module, _, attribute = entry_point.partition(":")
    return getattr(import_module(module), attribute)
