"""`python:module:attribute`: a callable of the user's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Message, Request, Sampling

_SHAPE = "it takes a list of messages ({'role', 'content'}) and returns the answer as a str"


class FunctionModel:
    """Asks a callable for each answer.

    Args:
        module: dotted name of the module; the working directory is searched too.
        attribute: name of the callable in it.

    Raises:
        UserError: if there is no such callable.
    """

    batch_size = 16

    def __init__(self, module: str, attribute: str) -> None:
        self._name = f"python:{module}:{attribute}"
        self._function = self._find(module, attribute)

    def identity(self) -> dict[str, Any]:
        """Return nothing: the code is the user's own."""
        return {}

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return the callable's answers.

        Raises:
            UserError: if it raises or returns no str.
        """
        return [Completion(self._ask([*request.messages])) for request in requests]

    def _ask(self, messages: list[Message]) -> str:
        try:
            answer = self._function(messages)
        except Exception as error:
            raise UserError(
                f"{self._name} raised {type(error).__name__}: {error}", exit_code=1
            ) from error
        if not isinstance(answer, str):
            raise UserError(f"{self._name} returned {type(answer).__name__}; {_SHAPE}", exit_code=1)
        return answer

    def _find(self, module: str, attribute: str) -> Callable[[list[Message]], Any]:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UserError(f"{self._name} cannot be imported: {error}") from error
        if not callable(found):
            raise UserError(f"{self._name} is not callable; {_SHAPE}")
        function: Callable[[list[Message]], Any] = found
        return function
