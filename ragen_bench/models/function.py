"""`python:module:attribute`: a callable of the user's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import (
    OPPONENTS,
    CallEngine,
    Completion,
    Engine,
    Message,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.own_sources import OwnSources

_SHAPE = "it takes a list of messages ({'role', 'content'}) and returns the answer as a str"


class FunctionModel:
    """Asks a callable for each answer.

    Args:
        module: dotted name of the module; the working directory is searched too.
        attribute: name of the callable in it.

    Raises:
        UserError: if there is no such callable.
    """

    # Answers come one by one: an episode that is finished is recorded before a later one fails.
    slots = 1
    group_size = 1

    def __init__(self, module: str, attribute: str) -> None:
        self._name = f"python:{module}:{attribute}"
        self._function = self._find(module, attribute)

    def identity(self) -> dict[str, Any]:
        """Return a hash of the user's own code, so that an edited one is not mixed into a run.

        It covers what was loaded once the module was imported, see `OwnSources`.
        """
        return dict(self._identity)

    def probe(self) -> str:
        """Return where it runs."""
        return "in this process, a function"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that calls it; `collect` raises a UserError if it fails.

        Raises:
            UserError: if the answers are to be constrained.
        """
        refuse_constraint(sampling, self._name)
        return CallEngine(lambda requests: [Completion(self._ask(request)) for request in requests])

    def _ask(self, request: Request) -> str:
        try:
            answer = self._function([*request.messages])
        except (Exception, SystemExit) as error:
            place = self._sources.place_of(error)
            where = f"{place}; {_spoken(request.key)}" if place else _spoken(request.key)
            raise UserError(
                f"{self._name} raised {described(error)} ({where})", exit_code=1
            ) from error
        if not isinstance(answer, str):
            raise UserError(f"{self._name} returned {type(answer).__name__}; {_SHAPE}", exit_code=1)
        return answer

    def _find(self, module: str, attribute: str) -> Callable[[list[Message]], Any]:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            imported = importlib.import_module(module)
            function = getattr(imported, attribute)
        # The module is the user's own code: importing it may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            raise UserError(f"{self._name} cannot be imported: {described(error)}") from error
        self._sources = OwnSources(imported)
        self._identity = self._sources.identity()
        if not callable(function):
            raise UserError(f"{self._name} is not callable; {_SHAPE}")
        return cast(Callable[[list[Message]], Any], function)


def _spoken(key: str) -> str:
    """Return which question a request's key names."""
    episode, *numbers = key.removesuffix(OPPONENTS).rsplit("/", 3)
    if len(numbers) == 3 and all(number.isdecimal() for number in numbers):
        index, sample, turn = numbers
        seat = ", as the opponent" if key.endswith(OPPONENTS) else ""
        return f"{episode}, instance {index}, sample {sample}, turn {turn}{seat}"
    return f"question {key}"
