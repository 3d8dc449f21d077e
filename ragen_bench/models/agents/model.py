"""`python:MODULE:ATTRIBUTE`: an agent of the user's own, which runs in a process of its own."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ragen_bench.agents import Answer
from ragen_bench.errors import UserError
from ragen_bench.models.agents import CONCURRENCY
from ragen_bench.models.agents.agent_files import agent_files
from ragen_bench.models.agents.function import completion_of
from ragen_bench.models.agents.own_sources import OwnSources, loaded_files
from ragen_bench.models.agents.process import AgentProcess
from ragen_bench.models.agents.questions import data_of
from ragen_bench.models.agents.sandbox import refuse_where_not, why_not
from ragen_bench.models.agents.wire import Answered, Failed, Interrupted, Loaded, Reply
from ragen_bench.models.base import (
    Completion,
    Engine,
    Fault,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation


class OutsideModel:
    """Asks a callable, or an object of a class that each episode has its own of, in a process.

    Args:
        module: dotted name of the module; the working directory is searched too.
        attribute: name of the callable or the class in it.
        at_once: how many episodes are played at once, if it is `async def`.
        isolation: where it runs.

    Raises:
        UserError: if there is no such callable, or it cannot be isolated where it is to be.
    """

    group_size = 1

    def __init__(
        self,
        module: str,
        attribute: str,
        at_once: int = CONCURRENCY,
        isolation: Isolation = IN_SUBPROCESS,
    ) -> None:
        self.name = f"python:{module}:{attribute}"
        self._module = module
        self._called = {"module": module, "attribute": attribute, "at_once": at_once}
        self._isolation = isolation
        self._isolated = isolation.level == "sandbox"
        if self._isolated:
            refuse_where_not(self.name, isolation.reason)
        self._process: AgentProcess | None = None
        self._numbers, self._episodes = count(), count()
        self._ended: list[int] = []
        self._asked: dict[int, _Asked] = {}
        self._loaded, self._identity = self._begin()
        self.slots = at_once if self._loaded.waits else 1

    def identity(self) -> dict[str, Any]:
        """Return a hash of the user's own code, so that an edited one is not mixed into a run.

        It covers what was loaded once the module was imported, see `OwnSources`.
        """
        return dict(self._identity)

    def probe(self) -> str:
        """Return where it runs, and whether it could be isolated."""
        kind = "class" if self._loaded.is_class else "function"
        if self._isolated:
            return f"isolated by bubblewrap, a {kind}"
        could = why_not() or "--isolate would keep it from files and the network"
        return f"in a process of its own, a {kind}; {could}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks it; `collect` raises a UserError if it fails.

        Raises:
            UserError: if the answers are to be constrained.
        """
        refuse_constraint(sampling, self.name)
        return _Engine(self)

    def ask(self, engine: _Engine, request: Request) -> int:
        """Send a question and return its number."""
        if self._process is None:
            self._begin_again()
        number, asked = next(self._numbers), _Asked(engine, request, self._until())
        ended = self._ended[:]
        del self._ended[: len(ended)]
        message = {
            "number": number,
            "episode": self._episode(request),
            "ended": ended,
            "request": data_of(request, self._loaded.is_class),
        }
        self._asked[number] = asked
        self._send(message, asked)
        return number

    def receive(self) -> None:
        """Wait for replies, and hand each to the engine that asked."""
        oldest = next(iter(self._asked.values()))
        for reply in self._replies(oldest.until, oldest.request):
            if isinstance(reply, Interrupted):
                raise KeyboardInterrupt
            # A question that was cancelled may have been answered before.
            if not isinstance(reply, Loaded) and (asked := self._asked.pop(reply.number, None)):
                asked.engine.take(reply.number, asked.request, self._read(reply, asked.request))

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget questions. What cannot wait is ended in the middle of its answer."""
        for number in numbers:
            self._asked.pop(number, None)
        if not numbers or self._process is None:
            return
        if self._loaded.waits:
            self._send({"cancel": [*numbers]}, None)
        else:
            self._end()

    def _begin(self) -> tuple[Loaded, dict[str, str]]:
        """Start the process; return what it says of the agent, and the agent's identity."""
        files = agent_files(self._module, self.name) if self._isolated else None
        self._process = process = AgentProcess(self.name, files)
        self._finalizer = weakref.finalize(self, process.close)
        memory = self._isolation.memory if self._isolated else 0
        self._send({**self._called, "memory": memory}, None)
        [loaded, *_] = self._replies(self._until(), None)
        if isinstance(loaded, Interrupted):
            raise KeyboardInterrupt
        if not isinstance(loaded, Loaded):
            self._end()
            raise UserError(
                _shown(loaded.error) if isinstance(loaded, Failed) else f"{self.name} is no agent",
                exit_code=2,
            )
        return loaded, self._identity_of(loaded, files)

    def _begin_again(self) -> None:
        """Start the process anew after it ended.

        Raises:
            UserError: if the agent was edited meanwhile.
        """
        _, identity = self._begin()
        if identity != self._identity:
            self._end()
            raise UserError(f"{self.name} has changed since it was loaded", exit_code=1)

    def _identity_of(self, loaded: Loaded, files: tuple[Path, ...] | None) -> dict[str, str]:
        def is_its_own(file: Path) -> bool:
            return files is None or any(file == path or path in file.parents for path in files)

        there = [(name, Path(file)) for name, file in loaded.files]
        own = [(name, file) for name, file in there if file.is_file() and is_its_own(file)]
        module = Path(loaded.module) if loaded.module else None
        if module and not (module.is_file() and is_its_own(module)):
            module = None
        name = loaded.name if files is None else self._module
        sources = OwnSources(name, module, [*own, *loaded_files()])
        typed = {"source_sha256": loaded.typed} if loaded.typed else {}
        return sources.identity() or typed

    def _episode(self, request: Request) -> int | None:
        """Return the number of a request's episode, of which the agent keeps an object."""
        if not self._loaded.is_class:
            return None
        held = request.kept.get(request.seat)
        if held is None:
            held = request.kept[request.seat] = _Held(next(self._episodes))
            weakref.finalize(held, self._ended.append, held.number).atexit = False
        return int(held.number)

    def _read(self, reply: Answered | Failed, request: Request) -> Completion | UserError:
        """Return an answer as the harness takes it, or what to raise in its place."""
        if isinstance(reply, Failed):
            return UserError(_shown(reply.error), exit_code=1)
        try:
            answer = Answer(
                reply.text, reply.reasoning, reply.prompt_tokens, reply.completion_tokens
            )
            return completion_of(answer, request, self.name)
        except (UserError, ValueError) as error:
            return UserError(_shown(str(error)), exit_code=1)

    def _send(self, message: Any, asked: _Asked | None) -> None:
        process, until = self._process, asked.until if asked else self._until()
        if process is None:
            return
        try:
            process.send(message, until)
        except TimeoutError:
            raise self._late(asked.request if asked else None) from None
        except UserError as error:
            raise self._gone(error, asked.request if asked else None) from None

    def _replies(self, until: float | None, request: Request | None) -> list[Reply]:
        if self._process is None:
            raise UserError(f"the process of {self.name} has ended", exit_code=1)
        try:
            return self._process.receive(until)
        except TimeoutError:
            raise self._late(request) from None
        except UserError as error:
            raise self._gone(error, request) from None

    def _late(self, request: Request | None) -> UserError:
        self._end()
        said = f"{self.name} took more than {self._isolation.seconds:g} s"
        what = f"for an answer ({request.spoken})" if request else "to be imported"
        return UserError(f"{said} {what}; --timeout S gives it more", exit_code=1)

    def _gone(self, error: UserError, request: Request | None) -> UserError:
        self._end()
        return UserError(f"{error} ({request.spoken})" if request else str(error), exit_code=1)

    def _end(self) -> None:
        self._asked.clear()
        self._process = None
        self._finalizer()

    def _until(self) -> float | None:
        seconds = self._isolation.seconds
        return None if seconds is None else time.monotonic() + seconds


class _Held:
    """Stands for the object that the agent's process keeps of an episode."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Asked:
    """A question that is not answered yet."""

    def __init__(self, engine: _Engine, request: Request, until: float | None) -> None:
        self.engine, self.request, self.until = engine, request, until


class _Engine:
    """Asks for answers, as many at once as the model has slots, and hands them out as they come."""

    def __init__(self, model: OutsideModel) -> None:
        self._model = model
        self._waiting: deque[Request] = deque()
        self._in_flight: set[int] = set()
        self._done: list[tuple[Request, Completion | Fault]] = []
        self._failed: UserError | None = None

    def submit(self, request: Request) -> None:
        """Take a request; it is asked at once if there is a slot."""
        self._waiting.append(request)
        self._ask()

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Wait for an answer, and return all that are there, in the order in which they came.

        Those that are there together with a failure come first: they may finish an episode.

        Raises:
            UserError: if the agent failed.
        """
        while not self._done:
            if self._failed:
                raise self._failed
            self._model.receive()
            self._ask()
        done, self._done = self._done, []
        return done

    def take(self, number: int, request: Request, answer: Completion | UserError) -> None:
        """Take what became of a question."""
        self._in_flight.discard(number)
        if isinstance(answer, UserError):
            self._failed = self._failed or answer
        else:
            self._done.append((request, answer))

    def close(self) -> None:
        """Cancel what is in flight."""
        self._waiting.clear()
        dropped, self._in_flight = sorted(self._in_flight), set()
        self._model.drop(dropped)

    def _ask(self) -> None:
        while self._waiting and not self._failed and len(self._in_flight) < self._model.slots:
            self._in_flight.add(self._model.ask(self, self._waiting.popleft()))


def _shown(text: str) -> str:
    """Return what an agent's process said as one line that leaves the terminal alone."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_LONGEST_LINE])


_LONGEST_LINE = 2000
"""Characters of an error that are shown."""
