"""The random player of an environment that lists no actions: a function that the user names."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from ragen_bench.errors import UserError, described
from ragen_bench.models.agents.own_sources import OwnSources, sources_of, typed_identity
from ragen_bench.own_modules import attribute_of, import_own
from ragen_envs.core.instances import RandomStream

_SHAPE = (
    "it takes the observations of the episode so far, a tuple of texts, and a random.Random, and "
    "returns the answer as a text"
)
_DIGITS = 16


@dataclass(frozen=True, eq=False)
class RandomPlayer:
    """A function that gives random answers.

    Attributes:
        name: MODULE:FUNCTION.
        function: from the observations of the episode so far, the latest one last, and a generator
            to the answer.
        sources: the files that an error of it may come from.
        identity: a hash of its module's file, for the record.
    """

    name: str
    function: Callable[[tuple[str, ...], Random], str]
    sources: OwnSources
    identity: dict[str, str]

    def answer(self, observations: Sequence[str], stream: RandomStream, where: str) -> str:
        """Return an answer, which depends on the arguments alone if the function does.

        Args:
            observations: of the episode so far, the latest one last.
            stream: decides the generator's seed.
            where: which turn it is, for messages.

        Raises:
            UserError: if the function raises, or returns no text.
        """
        try:
            answer: Any = self.function(tuple(observations), Random(stream.word()))
        # The function is the user's own code, which may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            place = self.sources.place_of(error)
            at = f"{place}; {where}" if place else where
            raise UserError(f"{self.name} raised {described(error)} ({at})", exit_code=1) from error
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise UserError(f"{self.name} returned {kind}; {_SHAPE} ({where})", exit_code=1)
        return answer


_NAMED: dict[str, RandomPlayer] = {}
"""The functions that the user of this process named. A record alone names none: its modules would
run as the user's own code."""


def name_random_player(name: str) -> RandomPlayer:
    """Import a function, so that it can be found by its name.

    Args:
        name: MODULE:FUNCTION. The working directory is searched too.

    Raises:
        UserError: if there is no such function.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute.isidentifier():
        raise UserError(f"--random-player is MODULE:FUNCTION, got {name!r}")
    holder = import_own(module, name)
    function = attribute_of(holder, attribute, name)
    known = _NAMED.get(name)
    if known and known.function is function:
        return known  # its file may have been edited since, and does not play
    if not callable(function):
        raise UserError(f"{name} is not a function; {_SHAPE}")
    if inspect.isclass(function) or inspect.iscoroutinefunction(function):
        kind = "a class" if inspect.isclass(function) else "async def"
        raise UserError(f"{name} is {kind}, not a function; {_SHAPE}")
    identity = _identity(holder, function)
    _NAMED[name] = RandomPlayer(name, function, sources_of(holder), identity)
    return _NAMED[name]


def named_random_player(name: str) -> RandomPlayer:
    """Return a function that was named before.

    Args:
        name: as a record has it.

    Raises:
        UserError: if it was not.
    """
    if name not in _NAMED:
        raise UserError(
            f"the random player of the run is {name!r}; if you trust it, add --random-player to "
            "import it"
        )
    return _NAMED[name]


def _identity(module: ModuleType, function: Callable[..., Any]) -> dict[str, str]:
    """Return a hash of the module's file alone, whatever else is loaded."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_file():
        return typed_identity(function)
    return {"source_sha256": hashlib.sha256(Path(file).read_bytes()).hexdigest()[:_DIGITS]}
