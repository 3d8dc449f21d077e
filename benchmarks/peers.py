"""The nearest games of other packages, behind one small interface."""

from __future__ import annotations

import importlib
import sys
from itertools import permutations
from typing import Any, Protocol

import gymnasium
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map


class Peer(Protocol):
    """The interface of a measured game."""

    def reset(self, seed: int) -> str:
        """Begin a new instance; return its text."""
        ...

    def valid_actions(self) -> list[Any]:
        """Return a legal input of `step`."""
        ...

    def step(self, action: Any) -> tuple[str, bool]:
        """Take one action; return the new text and whether the episode is over."""
        ...


class TextArenaSokoban:
    """TextArena's Sokoban with the given size, in its version "-train" or "-raw"."""

    def __init__(self, size: int, boxes: int, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        room = (size, size)
        self.env = textarena.make(f"Sokoban-v0{version}", dim_room=room, num_boxes=boxes)

    def reset(self, seed: int) -> str:
        """Generate a room."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the moves that no wall or box blocks."""
        return [f"[{name}]" for name in _not_blocked(unwrapped(self.env))]

    def step(self, action: str) -> tuple[str, bool]:
        """Move once."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


class TextArenaFrozenLake:
    """TextArena's FrozenLake, 4x4, which does not slip, with random start and goal."""

    def __init__(self, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        self.env = textarena.make(f"FrozenLake-v0-random{version}")

    def reset(self, seed: int) -> str:
        """Generate a lake."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the steps that stay on the map."""
        env = unwrapped(self.env)
        inside, (y, x) = range(env.size), env.state.game_state["player_pos"]
        moves = env.actions.items()
        return [f"[{name}]" for name, (dy, dx) in moves if y + dy in inside and x + dx in inside]

    def step(self, action: str) -> tuple[str, bool]:
        """Take one step."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


class TextArenaMinesweeper:
    """TextArena's Minesweeper, 5x5 with five mines, in its version "-train" or "-raw"."""

    def __init__(self, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        name = f"Minesweeper-v0{version}"
        self.env = textarena.make(name, rows=5, cols=5, num_mines=5)

    def reset(self, seed: int) -> str:
        """Begin with all squares closed."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the closed squares without a mine."""
        return [f"[{y} {x}]" for y, x in _without_mine(unwrapped(self.env))]

    def step(self, action: str) -> tuple[str, bool]:
        """Open a square."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


def text_of(env: Any) -> str:
    """Return TextArena's current observation of its only player."""
    _, told = env.get_observation()
    return told if isinstance(told, str) else str(told[-1][1])


def unwrapped(env: Any) -> Any:
    """Return TextArena's game without its wrappers."""
    while hasattr(env, "env"):
        env = env.env
    return env


class GemSokoban:
    """GEM's Sokoban with the given size."""

    def __init__(self, size: int, boxes: int) -> None:
        gem = importlib.import_module("gem")
        self.env = gem.make("game:Sokoban-v0-easy", dim_room=(size, size), num_boxes=boxes)

    def reset(self, seed: int) -> str:
        """Generate a room."""
        _, info = self.env.reset(seed=seed)
        return str(info["suffix"])

    def valid_actions(self) -> list[str]:
        """Return the moves that no wall or box blocks."""
        return [f"\\boxed{{{name}}}" for name in _not_blocked(self.env)]

    def step(self, action: str) -> tuple[str, bool]:
        """Move once."""
        _, _, terminated, truncated, info = self.env.step(action)
        return info["suffix"], terminated or truncated


class GemMinesweeper:
    """GEM's Minesweeper, 5x5 with five mines."""

    def __init__(self) -> None:
        gem = importlib.import_module("gem")
        self.env = gem.make("game:Minesweeper-v0-easy")

    def reset(self, seed: int) -> str:
        """Begin with all squares closed."""
        _, info = self.env.reset(seed=seed)
        return str(info["suffix"])

    def valid_actions(self) -> list[str]:
        """Return the closed squares without a mine."""
        return [f"\\boxed{{reveal {y} {x}}}" for y, x in _without_mine(self.env)]

    def step(self, action: str) -> tuple[str, bool]:
        """Open a square."""
        _, _, terminated, truncated, info = self.env.step(action)
        return info["suffix"], terminated or truncated


class TextArenaMastermind:
    """TextArena's Mastermind, 4 of 6 digits without repetition, in version "-train" or "-raw"."""

    def __init__(self, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        self.env = textarena.make(f"Mastermind-v0{version}")

    def reset(self, seed: int) -> str:
        """Draw a code."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the guesses that were not made."""
        made = {tuple(each["guess"]) for each in unwrapped(self.env).state.game_state["history"]}
        return [f"[{_spaced(code)}]" for code in _CODES if code not in made]

    def step(self, action: str) -> tuple[str, bool]:
        """Guess once."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


class GemMastermind:
    """GEM's Mastermind of 4 of 6 digits without repetition, which tells the latest answer alone."""

    def __init__(self) -> None:
        mastermind = importlib.import_module("gem.envs.game_env.mastermind")
        self.env = mastermind.MastermindEnv(code_length=4, num_numbers=6, max_turns=20)

    def reset(self, seed: int) -> str:
        """Draw a code."""
        told, _ = self.env.reset(seed=seed)
        return str(told)

    def valid_actions(self) -> list[str]:
        """Return the guesses that were not made."""
        made = self.env.previous_guesses
        return [f"\\boxed{{{_spaced(code)}}}" for code in _CODES if code not in made]

    def step(self, action: str) -> tuple[str, bool]:
        """Guess once."""
        told, _, terminated, truncated, info = self.env.step(action)
        return f"{told}\n{info['suffix']}", terminated or truncated


class ReasoningGymCountdown:
    """reasoning-gym's countdown of so many numbers; a step scores an answer, and is the last.

    Its score is all that it tells.
    """

    def __init__(self, count: int) -> None:
        gym = importlib.import_module("reasoning_gym")
        sizes = {"min_numbers": count, "max_numbers": count}
        self.made = gym.create_dataset("countdown", size=1 << 20, seed=0, **sizes)

    def reset(self, seed: int) -> str:
        """Make a task."""
        self.task = self.made[seed]
        return str(self.task["question"])

    def valid_actions(self) -> list[str]:
        """Return the numbers in a row, added and multiplied."""
        numbers = list(map(str, self.task["metadata"]["numbers"]))
        return [" + ".join(numbers), " * ".join(numbers)]

    def step(self, action: str) -> tuple[str, bool]:
        """Score an expression."""
        return f"{self.made.score_answer(action, self.task)}\n", True


_CODES = list(permutations(range(1, 7), 4))


def _spaced(code: tuple[int, ...]) -> str:
    return " ".join(map(str, code))


class GymnasiumFrozenLake:
    """Gymnasium's FrozenLake-v1, 4x4 and slippery, whose text is its rendering in mode "ansi"."""

    def __init__(self, wrapped: bool = True) -> None:
        self.wrapped = wrapped

    def reset(self, seed: int) -> str:
        """Generate a map, and an environment for it."""
        rows = generate_random_map(size=4, seed=seed)
        self.env: gymnasium.Env[int, int] = (
            gymnasium.make("FrozenLake-v1", desc=rows, render_mode="ansi")
            if self.wrapped
            else FrozenLakeEnv(desc=rows, render_mode="ansi")
        )
        self.env.reset(seed=seed)
        return str(self.env.render())

    def valid_actions(self) -> list[int]:
        """Return all four: a step over the edge is within the rules."""
        return list(range(4))

    def step(self, action: int) -> tuple[str, bool]:
        """Take one step and render."""
        _, _, terminated, truncated, _ = self.env.step(action)
        return str(self.env.render()), terminated or truncated


def peers() -> dict[str, Peer]:
    """Return the games to compare with."""
    return {
        "Gymnasium FrozenLake-v1": GymnasiumFrozenLake(),
        "Gymnasium FrozenLake-v1, bare": GymnasiumFrozenLake(wrapped=False),
        "TextArena FrozenLake": TextArenaFrozenLake(),
        "TextArena FrozenLake, bare": TextArenaFrozenLake("-raw"),
        "TextArena Sokoban 6x6/1": TextArenaSokoban(6, 1),
        "TextArena Sokoban 6x6/1, bare": TextArenaSokoban(6, 1, "-raw"),
        "TextArena Sokoban 8x8/2": TextArenaSokoban(8, 2),
        "TextArena Sokoban 6x6/3, its own": TextArenaSokoban(6, 3),
        "GEM Sokoban 6x6/1": GemSokoban(6, 1),
        "GEM Sokoban 8x8/2": GemSokoban(8, 2),
        "GEM Sokoban 6x6/2, its own": GemSokoban(6, 2),
        "TextArena Minesweeper 5x5/5": TextArenaMinesweeper(),
        "TextArena Minesweeper 5x5/5, bare": TextArenaMinesweeper("-raw"),
        "GEM Minesweeper 5x5/5": GemMinesweeper(),
        "TextArena Mastermind 4 of 6": TextArenaMastermind(),
        "TextArena Mastermind 4 of 6, bare": TextArenaMastermind("-raw"),
        "GEM Mastermind 4 of 6": GemMastermind(),
        "reasoning-gym countdown, 4 numbers": ReasoningGymCountdown(4),
        "reasoning-gym countdown, 6 numbers": ReasoningGymCountdown(6),
    }


def check_peers() -> None:
    """Leave with one line if a peer is missing."""
    for module in ("textarena", "gem", "reasoning_gym"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            sys.exit(
                f"{module} cannot be imported ({error}); "
                "install the peers with: pip install -r benchmarks/requirements.txt"
            )


def _not_blocked(sokoban: Any) -> list[str]:
    """Return the moves of a peer's Sokoban that no wall or box blocks, which it keeps private."""
    blocked = sokoban._would_collide_with_wall  # noqa: SLF001
    return [name for name in sokoban.action_space if not blocked(name)]


def _without_mine(minesweeper: Any) -> list[tuple[int, int]]:
    """Return the closed squares of a peer's Minesweeper that have no mine, by row and column."""
    return [
        (y, x)
        for y, row in enumerate(minesweeper.grid)
        for x, number in enumerate(row)
        if number != -1 and not minesweeper.revealed[y][x]
    ]
