"""What an agent's process runs: it loads the agent, and answers what the scorer asks."""

from __future__ import annotations

import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.agents.function import FunctionModel
from ragen_bench.models.agents.questions import Data, Episodes
from ragen_bench.models.agents.wire import (
    Answered,
    Failed,
    Inbox,
    Interrupted,
    Loaded,
    Reply,
    packed_reply,
)
from ragen_bench.models.base import Completion

_CHUNK = 1 << 16
_FILE = 64 << 20
"""Bytes of a file that an isolated agent may write."""
_OPEN_FILES = 256


def main(requests: int, replies: int, on_interrupt: Any) -> None:
    """Load the agent that the first message names, and answer until there are no more.

    Args:
        requests: the descriptor to read from.
        replies: the descriptor to write to.
        on_interrupt: what Ctrl-C does while the agent's code runs.
    """
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    incoming = _incoming(requests)
    opened = next(incoming)
    if opened["memory"]:
        _limit(opened["memory"])
    out = _Replies(replies)
    signal.signal(signal.SIGINT, on_interrupt)
    try:
        agent = FunctionModel(opened["module"], opened["attribute"], opened["at_once"])
    except UserError as error:
        out.send(Failed(-1, str(error), error.exit_code))
        return
    except KeyboardInterrupt:
        out.send(Interrupted(-1))
        return
    out.send(_loaded(agent))
    if agent.waits:
        _answer_many(agent, incoming, out)
    else:
        _answer_each(agent, incoming, out)


class _Replies:
    """Where replies are written, each as a whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, reply: Reply) -> None:
        _flush()
        with self._lock:
            data = memoryview(packed_reply(reply))
            while data:
                data = data[os.write(self._descriptor, data) :]


def _answer_each(agent: FunctionModel, incoming: Iterator[Data], out: _Replies) -> None:
    """Answer one question after the other, in the main thread."""
    questions: queue.SimpleQueue[Data | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_read, args=(incoming, questions, busy), daemon=True).start()
    episodes = Episodes()
    try:
        while question := questions.get():
            busy.set()
            out.send(_answer(agent, question, episodes))
            busy.clear()
    except KeyboardInterrupt:  # between two questions, or when the scorer has gone
        return


def _answer(agent: FunctionModel, question: Data, episodes: Episodes) -> Reply:
    number = question["number"]
    try:
        return _answered(number, agent.ask(episodes.of(question)))
    except UserError as error:
        return Failed(number, str(error), error.exit_code)
    except KeyboardInterrupt:
        return Interrupted(number)


def _read(
    incoming: Iterator[Data], questions: queue.SimpleQueue[Data | None], busy: threading.Event
) -> None:
    """Hand questions to the main thread; when the scorer has gone, end what it works on."""
    for question in incoming:
        if "cancel" not in question:
            questions.put(question)
    questions.put(None)
    if busy.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _answer_many(agent: FunctionModel, incoming: Iterator[Data], out: _Replies) -> None:
    """Answer questions as they come, on the agent's event loop."""
    episodes = Episodes()
    in_flight: dict[int, Future[Completion]] = {}

    def finish(number: int, done: Future[Completion]) -> None:
        in_flight.pop(number, None)
        if (reply := _outcome(number, done)) is not None:
            out.send(reply)

    try:
        for question in incoming:
            for number in question.get("cancel", ()):
                if future := in_flight.get(number):
                    future.cancel()
            if "request" in question:
                number = question["number"]
                future = in_flight[number] = agent.start(episodes.of(question))
                future.add_done_callback(partial(finish, number))
    except KeyboardInterrupt:
        return


def _outcome(number: int, done: Future[Completion]) -> Reply | None:
    """Return what is said of a question that is no longer in flight; None if it was cancelled."""
    try:
        return _answered(number, done.result())
    except UserError as error:
        return Failed(number, str(error), error.exit_code)
    except KeyboardInterrupt:
        return Interrupted(number)
    except CancelledError:
        return None


def _answered(number: int, answer: Completion) -> Reply:
    counts = (answer.prompt_tokens, answer.completion_tokens)
    return Answered(number, str(answer.text), str(answer.reasoning), *counts)


def _loaded(agent: FunctionModel) -> Loaded:
    sources = agent.sources
    files = [[name, str(file)] for name, file in sources.covered]
    typed = "" if sources.file else agent.identity().get("source_sha256", "")
    module = str(sources.file) if sources.file else ""
    return Loaded(agent.is_class, agent.waits, sources.name, module, files, typed)


def _incoming(descriptor: int) -> Iterator[Data]:
    """Yield messages until the scorer closes its end."""
    inbox = Inbox(longest=None)
    while data := os.read(descriptor, _CHUNK):
        yield from inbox.add(data)


def _limit(memory: int) -> None:
    """Bound what this process may use from now on.

    Args:
        memory: GiB of address space.
    """
    for what, most in (
        (resource.RLIMIT_AS, memory << 30),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(what, (most, most))


def _flush() -> None:
    """Let what the agent printed arrive before its answer."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # the agent has closed or replaced it
            continue
