"""The main program of an agent's process: imports the agent and answers the scorer's requests."""

from __future__ import annotations

import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from types import FrameType

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.agents.function import FunctionModel
from ragen_bench.models.agents.messages import (
    Answered,
    Failed,
    Interrupted,
    Loaded,
    MessageBuffer,
    Reply,
    decode_request,
    encode_reply,
)
from ragen_bench.models.base import Completion, Side

_CHUNK = 1 << 16
_FILE_BYTES = 64 << 20
_OPEN_FILES = 256


def main(
    requests: int,
    replies: int,
    on_interrupt: Callable[[int, FrameType | None], object] | int | None,
) -> None:
    """Import the agent that the first message names, and answer requests until the pipe closes.

    Requests and replies are file descriptors; `on_interrupt` handles SIGINT in the agent's code.
    """
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    incoming = _read_messages(requests)
    settings = next(incoming)
    if limits := settings["limits"]:
        for limit, value in (
            (resource.RLIMIT_AS, limits["memory"] << 30),  # GiB
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, _FILE_BYTES),
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            *([(resource.RLIMIT_NPROC, limits["threads"])] if limits["threads"] else []),
        ):
            most = resource.getrlimit(limit)[1]  # of the user's shell, which may be lower
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(limit, (value, value))
    writer = _ReplyWriter(replies)
    signal.signal(signal.SIGINT, on_interrupt)
    try:
        agent = FunctionModel(settings["module"], settings["attribute"], settings["concurrency"])
    except UserError as error:
        writer.send(Failed(-1, str(error)))
        return
    except KeyboardInterrupt:
        writer.send(Interrupted(-1))
        return
    sources = agent.sources
    files = [[name, str(file)] for name, file in sources.covered]
    source_hash = "" if sources.file else agent.identity().get("source_sha256", "")
    writer.send(Loaded(agent.is_class, agent.is_async, files, source_hash))
    if agent.is_async:
        _answer_concurrently(agent, incoming, writer)
    else:
        _answer_in_turn(agent, incoming, writer)


class _ReplyWriter:
    """Writes each reply as a whole, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, reply: Reply) -> None:
        # The agent's printed text arrives before its response.
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # it has closed or replaced it
                stream.flush()
        with self._lock:
            data = memoryview(encode_reply(reply))
            while data:
                data = data[os.write(self._descriptor, data) :]


def _answer_in_turn(
    agent: FunctionModel, incoming: Iterator[JsonObject], writer: _ReplyWriter
) -> None:
    """Answer one request after the other, in the main thread."""
    requests: queue.SimpleQueue[JsonObject | None] = queue.SimpleQueue()
    is_busy = threading.Event()

    def queue_requests() -> None:
        for message in incoming:
            if "cancel" not in message:
                requests.put(message)
        requests.put(None)
        if is_busy.is_set():  # the scorer has ended
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=queue_requests, daemon=True).start()
    states: dict[int, dict[Side, object]] = {}
    try:
        while message := requests.get():
            is_busy.set()
            reply = _make_reply(
                message["number"], partial(agent.ask, decode_request(message, states))
            )
            if reply:
                writer.send(reply)
            is_busy.clear()
    except KeyboardInterrupt:  # between two requests, or after the scorer has ended
        return


def _answer_concurrently(
    agent: FunctionModel, incoming: Iterator[JsonObject], writer: _ReplyWriter
) -> None:
    """Answer requests as they come, on the agent's event loop."""
    states: dict[int, dict[Side, object]] = {}
    in_flight: dict[int, Future[Completion]] = {}

    def finish(number: int, future: Future[Completion]) -> None:
        in_flight.pop(number, None)
        if reply := _make_reply(number, future.result):
            writer.send(reply)

    try:
        for message in incoming:
            for number in message.get("cancel", ()):
                if future := in_flight.get(number):
                    future.cancel()
            if "request" in message:
                number = message["number"]
                future = in_flight[number] = agent.start(decode_request(message, states))
                future.add_done_callback(partial(finish, number))
    except KeyboardInterrupt:
        return


def _make_reply(number: int, read_completion: Callable[[], Completion]) -> Reply | None:
    """Return the reply to a request; None if it was cancelled."""
    try:
        completion = read_completion()
    except UserError as error:
        return Failed(number, str(error))
    except KeyboardInterrupt:
        return Interrupted(number)
    except CancelledError:
        return None
    counts = (completion.prompt_tokens, completion.completion_tokens)
    return Answered(number, str(completion.text), str(completion.reasoning), *counts)


def _read_messages(descriptor: int) -> Iterator[JsonObject]:
    """Yield messages until the scorer closes its end."""
    buffer = MessageBuffer(max_length=None)
    while data := os.read(descriptor, _CHUNK):
        yield from buffer.add(data)
