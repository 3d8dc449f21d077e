"""An agent of the user's own in this process: a function, or a class with an object an episode."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from ragen_bench.agents import Answer, EpisodeStart, Turn
from ragen_bench.errors import UserError, described
from ragen_bench.models.agents import CONCURRENCY
from ragen_bench.models.agents.own_sources import sources_of, typed_identity
from ragen_bench.models.api.background_loop import BackgroundLoop
from ragen_bench.models.api.engine import ServerEngine
from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.grammar import action_schema
from ragen_bench.own_modules import attribute_of, import_own
from ragen_envs.core.protocol import written_form

_SHAPE = (
    "it takes a list of messages ({'role', 'content'}) and returns the answer as a str or a "
    "ragen_bench.agents.Answer"
)
_CLASS = "a class has reset(episode) and act(messages, turn), as docs/agents.md says"


class FunctionModel:
    """Asks a callable for each answer, or an object of a class that each episode has its own of.

    Args:
        module: dotted name of the module; the working directory is searched too.
        attribute: name of the callable or the class in it.
        at_once: how many episodes are played at once, if it is `async def`.

    Raises:
        UserError: if there is no such callable.
    """

    group_size = 1

    def __init__(self, module: str, attribute: str, at_once: int = CONCURRENCY) -> None:
        self._name = f"python:{module}:{attribute}"
        self._own = self._find(module, attribute)
        self.is_class = inspect.isclass(self._own)
        self._loop = BackgroundLoop() if self._is_async() else None
        # Else answers come one by one: what is finished is recorded before a later one fails.
        self.slots = at_once if self._loop else 1

    def identity(self) -> dict[str, Any]:
        """Return a hash of the user's own code, so that an edited one is not mixed into a run.

        It covers what was loaded once the module was imported, see `OwnSources`.
        """
        return dict(self._identity)

    def probe(self) -> str:
        """Return where it runs."""
        return f"in this process, a {'class' if self.is_class else 'function'}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that calls it; `collect` raises a UserError if it fails.

        Raises:
            UserError: if the answers are to be constrained.
        """
        refuse_constraint(sampling, self._name)
        if self._loop:
            return ServerEngine(self._loop, self.slots, self._ask_async)
        return CallEngine(self._ask_all)

    def ask(self, request: Request) -> Completion:
        """Return the answer to a request, of what is not `async def`.

        Raises:
            UserError: if it fails.
        """
        with self._named(request):
            act, _ = self._begun(request)
            answer = act()
        return completion_of(answer, request, self._name)

    def start(self, request: Request) -> Future[Completion]:
        """Return the answer to come of what is `async def`; see `ask`."""
        if self._loop is None:
            raise TypeError(f"{self._name} does not wait")
        return self._loop.start(self._ask_async(request))

    @property
    def waits(self) -> bool:
        """Whether it is `async def`, and so asked by `start`."""
        return self._loop is not None

    def _ask_all(self, requests: Sequence[Request]) -> list[Completion]:
        return [self.ask(request) for request in requests]

    async def _ask_async(self, request: Request) -> Completion:
        with self._named(request):
            act, begun = self._begun(request)
            if inspect.isawaitable(begun):
                await begun
            answer = await act()
        return completion_of(answer, request, self._name)

    def _begun(self, request: Request) -> tuple[Callable[[], Any], Any]:
        """Return what answers a request, and what `reset` returned if the episode begins."""
        messages = [*request.messages]
        if not self.is_class:
            return partial(self._own, messages), None
        agent: Any = request.kept.get(request.seat)
        begun = None
        if agent is None:
            agent = request.kept[request.seat] = self._own()
            begun = agent.reset(_start(request))
        return partial(agent.act, messages, _turn(request)), begun

    @contextmanager
    def _named(self, request: Request) -> Iterator[None]:
        """Make of whatever the user's code raises one line that says where and when it did."""
        try:
            yield
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if self._loop and (task := asyncio.current_task()) and task.cancelling():
                raise  # the engine was closed
            place = self.sources.place_of(error)
            where = f"{place}; {request.spoken}" if place else request.spoken
            raise UserError(
                f"{self._name} raised {described(error)} ({where})", exit_code=1
            ) from error

    def _find(self, module: str, attribute: str) -> Any:
        imported = import_own(module, self._name)
        own = attribute_of(imported, attribute, self._name)
        self.sources = sources_of(imported)
        self._identity = self.sources.identity() or typed_identity(own)
        methods = [callable(getattr(own, name, None)) for name in ("reset", "act")]
        if inspect.isclass(own) and not all(methods):
            raise UserError(f"{self._name} is not an agent; {_CLASS}")
        if not callable(own):
            hint = f"name its class: {_CLASS}" if any(methods) else _SHAPE
            raise UserError(f"{self._name} is not callable; {hint}")
        return own

    def _is_async(self) -> bool:
        """Return whether answers are awaited.

        Raises:
            UserError: if only `reset` is `async def`.
        """
        if not inspect.isclass(self._own):
            return _waits(self._own)
        act, reset = (getattr(self._own, name) for name in ("act", "reset"))
        if _waits(reset) and not _waits(act):
            raise UserError(
                f"{self._name}: reset is async def and act is not; declare act with async def too"
            )
        return _waits(act)


def completion_of(answer: Any, request: Request, name: str) -> Completion:
    """Return what an agent returned as the harness takes it.

    Args:
        answer: anything.
        request: what was asked.
        name: the agent's, for messages.

    Raises:
        UserError: if it is no answer.
    """
    if isinstance(answer, str):
        return Completion(answer)
    if not isinstance(answer, Answer):
        shape = _SHAPE
        if inspect.iscoroutine(answer):
            answer.close()
            shape = "what returns one is to be declared with async def itself"
        raise UserError(
            f"{name} returned {type(answer).__name__}; {shape} ({request.spoken})",
            exit_code=1,
        )
    if answer.reasoning and request.env.response_format == "think":
        raise UserError(
            f"{name} returned its reasoning apart from the text, which has it in the "
            f"form 'think': add --format answer, or for an opponent --opponent-format answer "
            f"({request.spoken})",
            exit_code=1,
        )
    return Completion(
        answer.text, answer.prompt_tokens, answer.completion_tokens, reasoning=answer.reasoning
    )


def _waits(function: Callable[..., Any]) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004  # of an object, `async def` itself
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _start(request: Request) -> EpisodeStart:
    place, form = request.place, written_form(request.env.response_format)
    if place is None:
        return EpisodeStart(request.key, 0, 0, form)
    return EpisodeStart(place.env, place.instance, place.sample, form)


def _turn(request: Request) -> Turn:
    number = request.place.turn if request.place else 0
    return Turn(number, tuple(request.env.legal_actions), action_schema(request.env))
