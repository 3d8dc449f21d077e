"""The names of an office and the wordings of its texts, read from plain files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of training, or those of all that is held out; see the files.

    Attributes:
        names: by what they name.
        phrases: how references are spoken of.
        steps: how steps are asked for, by their tools.
        texts: what mails and files say, by their topics.
        requests: openings of a request and of its further steps, and how a change is begun.
        instructions: how instructions that are not the user's are put.
    """

    names: dict[str, tuple[str, ...]]
    phrases: dict[str, tuple[str, ...]]
    steps: dict[str, tuple[str, ...]]
    texts: dict[str, tuple[str, ...]]
    requests: dict[str, tuple[str, ...]]
    instructions: tuple[str, ...]


@cache
def vocabulary(pool: str) -> Vocabulary:
    """Return the vocabulary of "train" or "held_out", read once a process."""
    text = files(__package__).joinpath(f"{pool}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    instructions = tuple(tables.pop("instructions")["frames"])
    frozen = {
        table: {name: tuple(words) for name, words in rows.items()}
        for table, rows in tables.items()
    }
    return Vocabulary(instructions=instructions, **frozen)
