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
from ragen_bench.errors import UserError, described
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

    Args:
        module: Dotted name of the module; the working directory is searched too.
        attribute: Name of the function or the class in it.
        concurrency: Episodes at once, if it is `async def`.

    Raises:
        UserError: There is no such function or class.
    """

    group_size = 1

    def __init__(self, module: str, attribute: str, concurrency: int = CONCURRENCY) -> None:
        self._name = f"python:{module}:{attribute}"
        self._agent = self._import(module, attribute)
        self.is_class = inspect.isclass(self._agent)
        self._loop = BackgroundLoop() if self._check_async() else None
        # One at a time otherwise: finished episodes are recorded before a later one fails.
        self.slots = concurrency if self._loop else 1

    def identity(self) -> dict[str, Any]:
        """Return a hash of the user's code, so that edited code does not continue a run.

        It covers the modules that its import has loaded, see `SourceFiles`.
        """
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

    @property
    def is_async(self) -> bool:
        """Whether the agent is `async def`, so that `start` takes requests instead of `ask`."""
        return self._loop is not None

    def ask(self, request: Request) -> Completion:
        """Return the response of a synchronous agent.

        Raises:
            UserError: The agent fails.
        """
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

    def _prepare_call(self, request: Request) -> tuple[Callable[[], Any], Any]:
        """Return the call that answers a request, and the result of `reset` in a new episode."""
        messages = [*request.messages]
        if not self.is_class:
            return partial(self._agent, messages), None
        agent: Any = request.state.get(request.side)
        reset = None
        if agent is None:
            agent = request.state[request.side] = self._agent()
            reset = agent.reset(_describe_episode(request))
        return partial(agent.act, messages, _describe_turn(request)), reset

    @contextmanager
    def _user_errors(self, request: Request) -> Iterator[None]:
        """Turn errors of the user's code into one line with the place and the turn."""
        try:
            yield
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if self._loop and (task := asyncio.current_task()) and task.cancelling():
                raise  # the engine was closed
            place = self.sources.locate(error)
            where = f"{place}; {request.label}" if place else request.label
            raise UserError(
                f"{self._name} raised {described(error)} ({where})", exit_code=1
            ) from error

    def _import(self, module: str, attribute: str) -> Any:
        imported = import_user_module(module, self._name)
        agent = read_attribute(imported, attribute, self._name)
        self.sources = find_sources(imported)
        self._identity = self.sources.identity() or hash_source(agent)
        methods = [callable(getattr(agent, name, None)) for name in ("reset", "act")]
        if inspect.isclass(agent) and not all(methods):
            raise UserError(f"{self._name} is not an agent; {_CLASS_SHAPE}")
        if not callable(agent):
            hint = f"name its class: {_CLASS_SHAPE}" if any(methods) else _FUNCTION_SHAPE
            raise UserError(f"{self._name} is not callable; {hint}")
        return agent

    def _check_async(self) -> bool:
        """Return whether responses are awaited.

        Raises:
            UserError: Only `reset` is `async def`.
        """
        if not inspect.isclass(self._agent):
            return _is_async(self._agent)
        act, reset = (getattr(self._agent, name) for name in ("act", "reset"))
        if _is_async(reset) and not _is_async(act):
            raise UserError(
                f"{self._name}: reset is async def and act is not; declare act with async def too"
            )
        return _is_async(act)


def to_completion(answer: Any, request: Request, name: str) -> Completion:
    """Convert the return value of the agent `name`, of any type.

    Raises:
        UserError: The value is not an answer, or has reasoning where the format includes it.
    """
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


def _is_async(function: Callable[..., Any]) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  # an object's may be `async def`
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _describe_episode(request: Request) -> EpisodeStart:
    turn, response_format = request.turn_id, written_form(request.env.response_format)
    if turn is None:
        return EpisodeStart(request.key, 0, 0, response_format)
    return EpisodeStart(turn.env, turn.instance, turn.sample, response_format)


def _describe_turn(request: Request) -> Turn:
    number = request.turn_id.turn if request.turn_id else 0
    return Turn(number, tuple(request.env.legal_actions), action_schema(request.env))
