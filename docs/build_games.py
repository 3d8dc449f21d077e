"""Writes docs/games/: one page a game, from its docstring, its table of variants and its players.

`python docs/build_games.py` writes, with `--check` it fails if a page is not what it would write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragen_bench.scores.summary import baseline
from ragen_bench.suites import held_out_size, make_env
from ragen_envs.core.protocol import format_answer
from ragen_envs.registration import (
    NAMESPACE,
    OPPONENT_TABLE,
    TABLE,
    env_class,
    opponent_class,
    reference_of,
)

FOLDER = Path(__file__).parent / "games"
_MADE_BY = "<!-- Written by docs/build_games.py; change the docstring in place of this page. -->"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of every page."""
    games: dict[str, list[str]] = {}
    for name in TABLE:
        games.setdefault(env_class(name).game, []).append(name)
    for game, names in games.items():
        yield FOLDER / f"{game}.md", _page(env_class(names[0]), names)


def _page(game: Any, names: list[str]) -> str:
    parts = [
        f"# {names[0].removesuffix('-v0')}",
        _MADE_BY,
        inspect.getdoc(game) or "",
        "## Variants",
        _variants(names),
        f"Success of the random player, 16 episodes on each of the {_sizes(names)} test instances, "
        "and expected score of the best player on them:",
        _players(names),
        *(
            f"In {name} that is a reference player, and its score no ceiling: {why}."
            for name in names
            if (why := reference_of(name))
        ),
        f"## The first observation of `{NAMESPACE}/{names[0]}`, test instance 0",
        _block(_first(names[0])),
    ]
    if others := [name for name in names[1:] if _state(name) != _state(names[0])]:
        parts.append("The first state of the other variants' test instance 0:")
        parts += [f"`{NAMESPACE}/{name}`\n\n{_block(_state(name))}" for name in others]
    for name in OPPONENT_TABLE:
        if opponent_class(name).game == game.game:
            parts += _against(name)
    return "\n\n".join(parts) + "\n"


def _sizes(names: list[str]) -> str:
    """Return how many test instances the variants have, each number once."""
    sizes = dict.fromkeys(held_out_size(f"{NAMESPACE}/{name}") for name in names)
    return " or ".join(map(str, sizes))


def _variants(names: list[str]) -> str:
    rows = ["| id | | turns | actions a turn | actions | penalty |", "| --- " * 6 + "|"]
    for name in names:
        budget = env_class(name).variants[name].budget
        cells = [
            f"`{NAMESPACE}/{name}`",
            TABLE[name].about,
            budget.max_turns,
            budget.max_actions_per_turn,
            budget.max_actions,
            f"{budget.penalty / 100:g}",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _players(names: list[str]) -> str:
    rows = ["| id | random success | random score | best score |", "| --- " * 4 + "|"]
    for name in names:
        env = f"{NAMESPACE}/{name}"
        found = baseline("random", env, "test", range(held_out_size(env)))
        low, high = (f"{100 * bound:.1f}" for bound in found["success_interval"])
        rows.append(
            f"| `{NAMESPACE}/{name}` | {100 * found['success']:.1f} % [{low}, {high}] | "
            f"{found['score']:.3f} | {found['ceiling']:.3f}"
            f"{' (reference)' if reference_of(name) else ''} |"
        )
    return "\n".join(rows)


def _first(name: str) -> str:
    observation, _ = make_env(f"{NAMESPACE}/{name}", "test", "think").reset(seed=0)
    return observation


def _state(name: str) -> str:
    env = make_env(f"{NAMESPACE}/{name}", "test", "think")
    env.reset(seed=0)
    return env.render() or ""


def _against(name: str) -> list[str]:
    """Return the section of a game that needs an opponent."""
    cls = opponent_class(name)
    env = cls(name, "test", "think")
    env.reset(seed=0)
    return [
        f"## Played against a model: `{NAMESPACE}/{name}`",
        inspect.getdoc(cls) or "",
        "What the answerer reads on test instance 0, in the format `think`:",
        _block(env.opponent_reads(format_answer(["Is it alive?"], "think"))),
    ]


def _block(text: str) -> str:
    return f"```\n{text}\n```"


def main() -> int:
    """Write the pages, or compare them; return the exit code."""
    check = "--check" in sys.argv[1:]
    differing = 0
    for path, text in pages():
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        differing += not same
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"{'same' if same else 'differs' if check else 'wrote'}  {path.name}\n")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
