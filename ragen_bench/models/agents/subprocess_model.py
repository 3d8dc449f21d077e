"""`python:MODULE:ATTRIBUTE`: a user's agent in a subprocess."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from itertools import count
from pathlib import Path

from ragen_bench.agents import Answer
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.agents import CONCURRENCY
from ragen_bench.models.agents.agent_files import AgentFiles, find_agent_files, find_module_file
from ragen_bench.models.agents.function import to_completion
from ragen_bench.models.agents.limits import worker_limits
from ragen_bench.models.agents.messages import Failed, Interrupted, Loaded, Reply, encode_request
from ragen_bench.models.agents.process import AgentProcess
from ragen_bench.models.agents.sandbox import sandbox_problem
from ragen_bench.models.base import (
    Completion,
    Engine,
    Request,
    RequestFailure,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation
from ragen_bench.user_code import SourceFiles, list_loaded

_ERROR_CHARACTERS = 2000
_SUFFIXES = frozenset(Path(f"x{suffix}").suffix for suffix in all_suffixes())
"""Last suffixes of the files of modules."""


class SubprocessModel:
    """Calls a user's function or class in a subprocess; UserError without a sandbox."""

    group_size = 1

    def __init__(
        self,
        module: str,
        attribute: str,
        concurrency: int = CONCURRENCY,
        isolation: Isolation = IN_SUBPROCESS,
    ) -> None:
        self.name = f"python:{module}:{attribute}"
        self._module = module
        self._attribute = attribute
        self._settings = {"module": module, "attribute": attribute, "concurrency": concurrency}
        self._isolation = isolation
        self._sandboxed = isolation.level == "sandbox"
        if self._sandboxed and (problem := sandbox_problem()):
            raise UserError(f"{self.name} is to be isolated ({isolation.reason}), and {problem}")
        self._process: AgentProcess | None = None
        self._files: AgentFiles | None = None
        self._numbers, self._episodes = count(), count()
        self._ended: list[int] = []
        self._pending: dict[int, _Pending] = {}
        self._loaded, self._identity = self._start()
        self.slots = concurrency if self._loaded.is_async else 1

    def identity(self) -> JsonObject:
        """Return a hash of the user's code; see `FunctionModel`."""
        return dict(self._identity)

    def probe(self) -> str:
        """Return where it runs, and whether it could be sandboxed."""
        kind = "class" if self._loaded.is_class else "function"
        if self._sandboxed:
            return f"isolated by bubblewrap, a {kind}"
        advice = sandbox_problem() or "--isolate would keep it from files and the network"
        return f"in a process of its own, a {kind}; {advice}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine whose `collect` raises a UserError if the agent fails."""
        refuse_constraint(sampling, self.name)
        return _SubprocessEngine(self)

    def ask(self, engine: _SubprocessEngine, request: Request) -> int:
        """Send a request and return its number."""
        if self._process is None:
            _, identity = self._start()
            if identity != self._identity:
                self._end()
                raise UserError(f"{self.name} has changed since it was loaded", exit_code=1)
        episode = None
        if self._loaded.is_class:
            remote = request.state.get(request.side)
            if not isinstance(remote, _RemoteEpisode):
                remote = request.state[request.side] = _RemoteEpisode(next(self._episodes))
                weakref.finalize(remote, self._ended.append, remote.number).atexit = False
            episode = remote.number
        number, pending = next(self._numbers), _Pending(engine, request, self._deadline())
        ended = self._ended[:]
        del self._ended[: len(ended)]
        message = {
            "number": number,
            "episode": episode,
            "ended": ended,
            "request": encode_request(request, self._loaded.is_class),
        }
        self._pending[number] = pending
        self._send(message, pending)
        return number

    def receive(self) -> None:
        """Wait for replies, and pass each to the engine of its request."""
        oldest = next(iter(self._pending.values()))
        for reply in self._receive(oldest.deadline, oldest.request):
            if isinstance(reply, Interrupted):
                raise self._interruption()
            # The reply to a cancelled request may have been sent before the cancellation.
            if isinstance(reply, Loaded) or not (pending := self._pending.pop(reply.number, None)):
                continue
            outcome: Completion | UserError
            if isinstance(reply, Failed):
                outcome = UserError(self._describe(reply.error), exit_code=1)
            else:
                counts = reply.prompt_tokens, reply.completion_tokens
                try:
                    answer = Answer(reply.text, reply.reasoning, *counts)
                    outcome = to_completion(answer, pending.request, self.name)
                except (UserError, ValueError) as error:
                    outcome = UserError(_one_line(str(error)), exit_code=1)
            pending.engine.take(reply.number, pending.request, outcome)

    def cancel(self, numbers: Sequence[int]) -> None:
        """Cancel requests. The process of a synchronous agent is ended."""
        for number in numbers:
            self._pending.pop(number, None)
        if not numbers or self._process is None:
            return
        if self._loaded.is_async:
            self._send({"cancel": [*numbers]}, None)
        else:
            self._end()

    def _start(self) -> tuple[Loaded, dict[str, str]]:
        """Start the process; return its description of the agent, and the agent's identity."""
        memory = self._isolation.memory if self._sandboxed else 0
        if self._sandboxed:
            self._files = find_agent_files(
                self._module, self._attribute, self.name, self._isolation.seconds
            )
        self._process = process = AgentProcess(self.name, memory, self._files)
        self._finalizer = weakref.finalize(self, process.close)
        limits = worker_limits(memory) if self._sandboxed else {}
        self._send({**self._settings, "limits": limits}, None)
        [loaded, *_] = self._receive(self._deadline(), None)
        if isinstance(loaded, Interrupted):
            raise self._interruption()
        if not isinstance(loaded, Loaded):
            self._end()
            error = loaded.error if isinstance(loaded, Failed) else f"{self.name} is not an agent"
            raise UserError(self._describe(error))
        if self._sandboxed:
            # Nothing that an isolated agent's process says of itself is believed.
            return loaded, self._files.identity if self._files else {}
        return loaded, _reported_identity(self._module, loaded)

    def _interruption(self) -> BaseException:
        """Return the error for an agent that raised KeyboardInterrupt."""
        if not self._sandboxed:
            return KeyboardInterrupt()
        # The user's Ctrl-C does not reach a sandbox.
        self._end()
        return UserError(f"{self.name} raised KeyboardInterrupt", exit_code=1)

    def _describe(self, error: str) -> str:
        """Return the message for an error that the agent's process reports."""
        error = _one_line(error)
        return self._files.explain(error) if self._files else error

    def _send(self, message: object, pending: _Pending | None) -> None:
        if self._process:
            deadline = pending.deadline if pending else self._deadline()
            with self._process_errors(pending.request if pending else None):
                self._process.send(message, deadline)

    def _receive(self, deadline: float | None, request: Request | None) -> list[Reply]:
        if self._process is None:
            raise UserError(f"the process of {self.name} has ended", exit_code=1)
        with self._process_errors(request):
            return self._process.receive(deadline)

    @contextmanager
    def _process_errors(self, request: Request | None) -> Iterator[None]:
        """End the process on an error, and name the request in the message."""
        try:
            yield
        except TimeoutError:
            self._end()
            work = f"for an answer ({request.label})" if request else "to be imported"
            raise UserError(
                f"{self.name} took more than {self._isolation.seconds:g} s {work}; --timeout S "
                "gives it more",
                exit_code=1,
            ) from None
        except UserError as error:
            self._end()
            message = f"{error} ({request.label})" if request else str(error)
            raise UserError(message, exit_code=1) from None

    def _end(self) -> None:
        self._pending.clear()
        self._process = None
        self._finalizer()

    def _deadline(self) -> float | None:
        seconds = self._isolation.seconds
        return None if seconds is None else time.monotonic() + seconds


@dataclass(eq=False)
class _RemoteEpisode:
    """Stands for the object that the agent's process keeps for an episode."""

    number: int


@dataclass(eq=False)
class _Pending:
    engine: _SubprocessEngine
    request: Request
    deadline: float | None


class _SubprocessEngine:
    """Sends as many requests at once as the model has slots; returns responses as they come."""

    def __init__(self, model: SubprocessModel) -> None:
        self._model = model
        self._waiting: deque[Request] = deque()
        self._in_flight: set[int] = set()
        self._done: list[tuple[Request, Completion | RequestFailure]] = []
        self._error: UserError | None = None

    def submit(self, request: Request) -> None:
        self._waiting.append(request)
        self._fill_slots()

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Wait for a response; return all that have arrived, those before an error first."""
        while not self._done:
            if self._error:
                raise self._error
            self._model.receive()
            self._fill_slots()
        done, self._done = self._done, []
        return done

    def take(self, number: int, request: Request, outcome: Completion | UserError) -> None:
        self._in_flight.discard(number)
        if isinstance(outcome, UserError):
            self._error = self._error or outcome
        else:
            self._done.append((request, outcome))

    def close(self) -> None:
        self._waiting.clear()
        cancelled, self._in_flight = sorted(self._in_flight), set()
        self._model.cancel(cancelled)

    def _fill_slots(self) -> None:
        while self._waiting and not self._error and len(self._in_flight) < self._model.slots:
            self._in_flight.add(self._model.ask(self, self._waiting.popleft()))


def _reported_identity(module: str, loaded: Loaded) -> dict[str, str]:
    """Return the hash of the modules that a process has loaded below the folder of its agent.

    The scorer finds that folder itself, and reads nothing outside it.
    """
    file, name = find_module_file(module)
    if file is None:
        return {"source_sha256": loaded.source_hash} if loaded.source_hash else {}
    file = file.resolve()
    root = file.parents[name.count(".") + file.name.startswith("__init__.")]
    reported = ((other, Path(path)) for other, path in loaded.files)
    inside = [
        (other, path)
        for other, path in reported
        if path.suffix in _SUFFIXES
        and path.is_relative_to(root)
        and path.is_file()
        and path == path.resolve()
    ]
    return SourceFiles(name, file, [*inside, *list_loaded()]).identity()


def _one_line(text: str) -> str:
    """Return an untrusted error as one line without control characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_ERROR_CHARACTERS])
