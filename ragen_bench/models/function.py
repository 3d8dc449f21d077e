"""`python:module:attribute`: a callable of the user's own."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Message,
    Sampling,
    refuse_constraint,
)

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
        """Return a hash of the module's own file, so that an edited one is not mixed into a run.

        What the module imports is not covered.
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
        return CallEngine(lambda requests: [Completion(self._ask([*r.messages])) for r in requests])

    def _ask(self, messages: list[Message]) -> str:
        try:
            answer = self._function(messages)
        except (Exception, SystemExit) as error:
            raise UserError(f"{self._name} raised {described(error)}", exit_code=1) from error
        if not isinstance(answer, str):
            raise UserError(f"{self._name} returned {type(answer).__name__}; {_SHAPE}", exit_code=1)
        return answer

    def _find(self, module: str, attribute: str) -> Callable[[list[Message]], Any]:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            imported = importlib.import_module(module)
            found = getattr(imported, attribute)
        # The module is the user's own code: importing it may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            raise UserError(f"{self._name} cannot be imported: {described(error)}") from error
        self._identity = _source_hash(imported)
        if not callable(found):
            raise UserError(f"{self._name} is not callable; {_SHAPE}")
        function: Callable[[list[Message]], Any] = found
        return function


def _source_hash(module: ModuleType) -> dict[str, str]:
    """Return the hash of a module's file, or nothing for one without, such as `sys`."""
    file = getattr(module, "__file__", None)
    if not file:
        return {}
    return {"source_sha256": hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}
