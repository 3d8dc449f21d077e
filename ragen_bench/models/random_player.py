"""The random player of an environment that lists no actions: a user's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from ragen_bench.errors import UserError
from ragen_bench.user_code import (
    SourceFiles,
    file_of,
    find_sources,
    hash_bytes,
    hash_source,
    import_user_module,
    read_attribute,
)
from ragen_envs.core.instances import RandomStream

_SHAPE = (
    "it takes the observations of the episode so far, a tuple of texts, and a random.Random, and "
    "returns the answer as a text"
)


@dataclass(frozen=True, eq=False)
class RandomPlayer:
    """A user's function MODULE:FUNCTION that gives random answers.

    It maps the observations of the episode so far and a generator to an answer. `sources`
    locate its errors; `identity` is the hash of its module's file, for the record.
    """

    name: str
    function: Callable[[tuple[str, ...], Random], str]
    sources: SourceFiles
    identity: dict[str, str]

    def answer(self, observations: Sequence[str], stream: RandomStream, turn: str) -> str:
        """Return an answer, which depends on observations and stream alone if the function does."""
        try:
            answer: object = self.function(tuple(observations), Random(stream.word()))
        except (Exception, SystemExit) as error:  # the user's code may raise anything, or exit
            raise self.sources.describe_error(self.name, error, turn) from error
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise UserError(f"{self.name} returned {kind}; {_SHAPE} ({turn})", exit_code=1)
        return answer


_IMPORTED: dict[str, RandomPlayer] = {}
"""Functions that the user of this process named. A name in a record alone is never imported, since
that would run its code."""


def import_random_player(name: str) -> RandomPlayer:
    """Import a function MODULE:FUNCTION, so that `find_random_player` returns it."""
    module, _, attribute = name.partition(":")
    if not module or not attribute.isidentifier():
        raise UserError(f"--random-player is MODULE:FUNCTION, got {name!r}")
    imported = import_user_module(module, name)
    function = read_attribute(imported, attribute, name)
    known = _IMPORTED.get(name)
    if known and known.function is function:
        return known  # with the hash of its import, even if its file was edited since
    if not callable(function):
        raise UserError(f"{name} is not a function; {_SHAPE}")
    if inspect.isclass(function) or inspect.iscoroutinefunction(function):
        kind = "a class" if inspect.isclass(function) else "async def"
        raise UserError(f"{name} is {kind}, not a function; {_SHAPE}")
    # The module's file alone, whatever else is loaded.
    file = file_of(imported)
    identity = hash_bytes(file.read_bytes()) if file else hash_source(function)
    _IMPORTED[name] = RandomPlayer(name, function, find_sources(imported), identity)
    return _IMPORTED[name]


def find_random_player(name: str) -> RandomPlayer:
    """Return a function that was imported before, by its name in a record."""
    if name not in _IMPORTED:
        raise UserError(
            f"the random player of the run is {name!r}; if you trust it, add --random-player to "
            "import it"
        )
    return _IMPORTED[name]
