"""A user's agent in this process: a function, or a class with one object per episode."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from ragen_bench.agents import Answer, EpisodeStart, Turn
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.agents import CONCURRENCY
from ragen_bench.models.async_engine import AsyncEngine, BackgroundLoop
from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.grammar import action_schema
from ragen_bench.user_code import find_sources, hash_source, import_user_module, read_attribute
from ragen_envs.core.protocol import written_form

_FUNCTION_SHAPE = (
    "it takes a list of messages ({'role', 'content'}) and returns the answer as a str or a "
    "ragen_bench.agents.Answer"
)
_CLASS_SHAPE = "a class has reset(episode) and act(messages, turn), as docs/agents.md says"


class FunctionModel:
    """Calls a user's function for each response, or an episode's object of a user's class.

    The working directory is searched for the module too. An `async def` agent plays
    `concurrency` episodes at once. UserError if the function or class does not exist.
    """

    group_size = 1

    def __init__(self, module: str, attribute: str, concurrency: int = CONCURRENCY) -> None:
        self._name = name = f"python:{module}:{attribute}"
        imported = import_user_module(module, name)
        self._agent = agent = read_attribute(imported, attribute, name)
        self.sources = find_sources(imported)
        self._identity = self.sources.identity() or hash_source(agent)
        self.is_class = inspect.isclass(agent)
        methods = [getattr(agent, method, None) for method in ("act", "reset")]
        if self.is_class and not all(map(callable, methods)):
            raise UserError(f"{name} is not an agent; {_CLASS_SHAPE}")
        if not callable(agent):
            hint = (
                f"name its class: {_CLASS_SHAPE}"
                if any(map(callable, methods))
                else _FUNCTION_SHAPE
            )
            raise UserError(f"{name} is not callable; {hint}")
        are_async = [_is_async(function) for function in (methods if self.is_class else [agent])]
        if any(are_async) and not are_async[0]:
            raise UserError(
                f"{name}: reset is async def and act is not; declare act with async def too"
            )
        self.is_async = are_async[0]
        self._loop = BackgroundLoop() if self.is_async else None
        # One at a time otherwise: finished episodes are recorded before a later one fails.
        self.slots = concurrency if self.is_async else 1

    def identity(self) -> JsonObject:
        """Return a hash of the modules that its import has loaded: edited code does not run on."""
        return dict(self._identity)

    def probe(self) -> str:
        """Return where it runs."""
        return f"in this process, a {'class' if self.is_class else 'function'}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine whose `collect` raises a UserError if the agent fails."""
        refuse_constraint(sampling, self._name)
        if self._loop:
            return AsyncEngine(self._loop, self.slots, self._ask_async)
        return CallEngine(lambda requests: [self.ask(request) for request in requests])

    def ask(self, request: Request) -> Completion:
        """Return the response of a synchronous agent; a UserError says that it failed."""
        with self._user_errors(request):
            act, _ = self._prepare_call(request)
            answer = act()
        return to_completion(answer, request, self._name)

    def start(self, request: Request) -> Future[Completion]:
        """Return the future response of an asynchronous agent; see `ask`."""
        if self._loop is None:
            raise TypeError(f"{self._name} is not asynchronous")
        return self._loop.start(self._ask_async(request))

    async def _ask_async(self, request: Request) -> Completion:
        with self._user_errors(request):
            act, reset = self._prepare_call(request)
            if inspect.isawaitable(reset):
                await reset
            answer = await act()
        return to_completion(answer, request, self._name)

    def _prepare_call(self, request: Request) -> tuple[Callable[[], Any], object]:
        """Return the call that answers a request, and the result of `reset` in a new episode."""
        messages, env, turn = [*request.messages], request.env, request.turn_id
        if not self.is_class:
            return partial(self._agent, messages), None
        agent: Any = request.state.get(request.side)
        reset = None
        if agent is None:
            agent = request.state[request.side] = self._agent()
            place = (turn.env, turn.instance, turn.sample) if turn else (request.key, 0, 0)
            reset = agent.reset(EpisodeStart(*place, written_form(env.response_format)))
        number = turn.turn if turn else 0
        described_turn = Turn(number, tuple(env.legal_actions), action_schema(env))
        return partial(agent.act, messages, described_turn), reset

    @contextmanager
    def _user_errors(self, request: Request) -> Iterator[None]:
        """Turn errors of the user's code into one line with the place and the turn."""
        try:
            yield
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if self._loop and (task := asyncio.current_task()) and task.cancelling():
                raise  # the engine was closed
            raise self.sources.describe_error(self._name, error, request.label) from error


def to_completion(answer: object, request: Request, name: str) -> Completion:
    """Convert the return value of the agent `name`, of any type; a UserError says what is wrong."""
    if isinstance(answer, str):
        return Completion(answer)
    if not isinstance(answer, Answer):
        shape = _FUNCTION_SHAPE
        if inspect.iscoroutine(answer):
            answer.close()
            shape = "declare the function that returns a coroutine with async def"
        raise UserError(
            f"{name} returned {type(answer).__name__}; {shape} ({request.label})", exit_code=1
        )
    if answer.reasoning and request.env.response_format == "think":
        raise UserError(
            f"{name} returned its reasoning separately, but the format 'think' has it in the text: "
            f"add --format answer, or for an opponent --opponent-format answer ({request.label})",
            exit_code=1,
        )
    return Completion(
        answer.text, answer.prompt_tokens, answer.completion_tokens, reasoning=answer.reasoning
    )


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  # an object's may be `async def`
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
