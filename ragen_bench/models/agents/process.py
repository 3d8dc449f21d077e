"""The subprocess of an agent: its start, its messages and its end."""

from __future__ import annotations

import codecs
import os
import platform
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

from ragen_bench.errors import UserError
from ragen_bench.models.agents.agent_files import AgentFiles
from ragen_bench.models.agents.limits import ControlGroups, Watch
from ragen_bench.models.agents.messages import (
    MessageBuffer,
    MessageError,
    Reply,
    decode_reply,
    encode,
)
from ragen_bench.models.agents.sandbox import sandbox_command
from ragen_bench.models.agents.system_calls import make_filter
from ragen_bench.visible import visible

_CHUNK = 1 << 16
_GRACE = 5.0
"""Seconds that an agent has to end by itself."""
_STDERR_CHARACTERS = 300
"""Length of a sandboxed agent's last words on stderr, in the message that it has ended."""
_PROGRAM = (
    "import signal, sys; before = signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "requests, replies, *sys.path[:] = sys.argv[1:]; sys.argv[:] = ['ragen-bench']; "
    "from ragen_bench.models.agents.worker import main; "
    "main(int(requests), int(replies), before)"
)


class AgentProcess:
    """A subprocess that answers messages; `label` names the agent in them.

    Its printed text goes to this process's stdout and stderr; that of a sandboxed one is
    dropped. `memory` is the limit of a sandbox in GiB, 0 for no sandbox, and `files` are those
    that it shows. A UserError says that it would show the sealed key.
    """

    def __init__(self, label: str, memory: int = 0, files: AgentFiles | None = None) -> None:
        self._label, self._sandboxed = label, memory > 0
        self._groups = ControlGroups(memory) if memory else None
        self._buffer = MessageBuffer()
        self._stderr, self._open = "", True
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in _OUTPUTS
        }
        child_requests, self._requests = os.pipe()
        self._replies, child_replies = os.pipe()
        try:
            pipes = (child_requests, child_replies)
            if self._groups:
                self._process = _start_sandbox(pipes, label, files, self._groups)
            else:
                self._process = _start_process(pipes)
        except BaseException:
            if self._groups:
                self._groups.remove()
            os.close(self._requests)
            os.close(self._replies)
            raise
        finally:
            os.close(child_requests)
            os.close(child_replies)
        self._watch = Watch(self._process) if self._sandboxed else None
        if self._watch:
            self._watch.start()
        os.set_blocking(self._requests, False)
        self._incoming = selectors.DefaultSelector()
        self._incoming.register(self._replies, selectors.EVENT_READ, "replies")
        for name, stream in (("out", self._process.stdout), ("err", self._process.stderr)):
            if stream:
                self._incoming.register(stream, selectors.EVENT_READ, name)
        self._outgoing = selectors.DefaultSelector()
        self._outgoing.register(self._requests, selectors.EVENT_WRITE)

    def send(self, message: object, deadline: float | None) -> None:
        """Send a message of plain data, until a deadline of `time.monotonic`; None for no limit.

        A UserError says that the process has ended; a TimeoutError, that the deadline has passed.
        """
        data = memoryview(encode(message))
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                if not self._outgoing.select(_seconds_until(deadline)):
                    raise TimeoutError from None
            except BrokenPipeError:
                raise self._exit_error() from None

    def receive(self, deadline: float | None) -> list[Reply]:
        """Wait for a reply, and return all that have arrived; the errors are those of `send`."""
        replies: list[Reply] = []
        while not replies:
            seconds = _seconds_until(deadline)
            ready = self._incoming.select(seconds)
            if seconds == 0:
                raise TimeoutError
            try:
                # Printed text comes before the response that followed it.
                for key, _ in sorted(ready, key=lambda one: one[0].data == "replies"):
                    replies += self._read(key)
            except MessageError as error:
                self.close()
                raise UserError(f"{self._label} sent {error}", exit_code=1) from None
        return replies

    def close(self) -> None:
        """End the process: a sandboxed one at once, another one after its current work."""
        if not self._open:
            return
        self._open = False
        try:
            self._outgoing.close()
            os.close(self._requests)
            if not self._sandboxed:
                self._wait()
        finally:
            self._process.kill()
            self._process.wait()
            if self._watch:
                self._watch.stop()
            if self._groups:
                self._groups.remove()
            self._incoming.close()
            os.close(self._replies)
            for stream in (self._process.stdout, self._process.stderr):
                if stream:
                    stream.close()

    def _wait(self) -> None:
        """Wait until the process has ended, and pass on its printed text."""
        deadline = time.monotonic() + _GRACE
        while self._incoming.get_map() and (seconds := _seconds_until(deadline)):
            for key, _ in self._incoming.select(min(seconds, 0.1)):
                with suppress(MessageError):
                    for _ in self._read(key):
                        continue
            # Processes that it started may live on and keep its streams open.
            if self._process.poll() is not None and not self._incoming.select(0):
                return

    def _read(self, key: selectors.SelectorKey) -> Iterator[Reply]:
        data = os.read(key.fd, _CHUNK)
        if not data:
            self._incoming.unregister(key.fileobj)
        if key.data in _OUTPUTS:
            text = self._decoders[key.data].decode(data)
            if not self._sandboxed:
                stream = _OUTPUTS[key.data]()
                stream.write(text)
                stream.flush()
            elif key.data == "err":
                self._stderr = (self._stderr + text)[-_STDERR_CHARACTERS:]
        elif data:
            for content in self._buffer.add(data):
                yield decode_reply(content)
        elif self._open:
            raise self._exit_error()

    def _exit_error(self) -> UserError:
        """Return the error for a process that has ended unasked."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.poll()
        for key, _ in self._incoming.select(0):
            if key.data in _OUTPUTS:
                [*self._read(key)]
        self.close()
        end = "closed its pipe" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            end = f"was ended by {signal.Signals(-code).name}"
        if self._watch and self._watch.reason:
            end = f"was ended: {self._watch.reason}"
        last_line = self._stderr.strip().splitlines()[-1:]
        detail = f": {visible(last_line[0])}" if last_line else ""
        if "namespace" in detail and detail.startswith(": bwrap: "):
            detail += "; a sandbox needs user namespaces, which this machine or container forbids"
        return UserError(f"the process of {self._label} {end}{detail}", exit_code=1)


_OUTPUTS: dict[str, Callable[[], TextIO]] = {"out": lambda: sys.stdout, "err": lambda: sys.stderr}


def _start_process(pipes: tuple[int, int]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        _python_command(pipes), pass_fds=pipes, stdout=pipe, stderr=pipe, bufsize=0
    )


def _start_sandbox(
    pipes: tuple[int, int], label: str, files: AgentFiles | None, groups: ControlGroups
) -> subprocess.Popen[bytes]:
    with TemporaryFile() as seccomp:
        seccomp.write(make_filter(platform.machine()))
        seccomp.seek(0)
        command = sandbox_command(_python_command(pipes), files, label, seccomp.fileno())
        return subprocess.Popen(
            groups.join_command(command),
            pass_fds=(*pipes, seccomp.fileno()),
            env={},  # the agent can read bubblewrap's environment in /proc/1
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )


def _python_command(pipes: tuple[int, int]) -> list[str]:
    # Without -P, a file in the working directory would hide a module of the standard library.
    flags = ["-P", *(["-B"] if sys.dont_write_bytecode else [])]
    path = [str(Path(entry or ".").absolute()) for entry in sys.path]
    return [sys.executable, *flags, "-c", _PROGRAM, *map(str, pipes), *path]


def _seconds_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
