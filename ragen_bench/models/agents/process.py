"""An agent's process: how it is started, asked and ended, and how it is known that it ended."""

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
from typing import Any, Literal

from ragen_bench.errors import UserError
from ragen_bench.models.agents.sandbox import isolated
from ragen_bench.models.agents.system_calls import no_processes
from ragen_bench.models.agents.wire import Inbox, Reply, WireError, packed, reply_of
from ragen_bench.visible import visible

_CHUNK = 1 << 16
_GRACE = 5.0
"""Seconds that an agent has to end by itself."""
_TOLD = 300
"""Characters of what an isolated agent's process said last, in the message that it has ended."""
_BEGIN = (
    "import signal, sys; before = signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "requests, replies, *sys.path[:] = sys.argv[1:]; sys.argv[:] = ['ragen-bench']; "
    "from ragen_bench.models.agents.child import main; "
    "main(int(requests), int(replies), before)"
)
Stream = Literal["replies", "out", "err"]


class AgentProcess:
    """A process that answers messages.

    What it prints goes where this process prints; of one that is isolated it is dropped.

    Args:
        named: what messages say of it.
        files: the agent's, if it is to be isolated; else None.

    Raises:
        UserError: if it cannot be isolated.
    """

    def __init__(self, named: str, files: tuple[Path, ...] | None) -> None:
        self._named, self._isolated = named, files is not None
        self._inbox = Inbox()
        self._said, self._open = "", True
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in _SHOWN}
        ours, theirs = _pipes()
        self._requests, self._replies = ours
        try:
            self._process = _started(theirs, named, files)
        except BaseException:
            _close(*ours)
            raise
        finally:
            _close(*theirs)
        os.set_blocking(self._requests, False)
        self._incoming = selectors.DefaultSelector()
        self._incoming.register(self._replies, selectors.EVENT_READ, "replies")
        for name, stream in (("out", self._process.stdout), ("err", self._process.stderr)):
            if stream:
                self._incoming.register(stream, selectors.EVENT_READ, name)
        self._outgoing = selectors.DefaultSelector()
        self._outgoing.register(self._requests, selectors.EVENT_WRITE)

    def send(self, message: Any, until: float | None) -> None:
        """Send a message.

        Args:
            message: plain data.
            until: when `time.monotonic` has passed this, it is given up; None for never.

        Raises:
            UserError: if the process has ended.
            TimeoutError: if it is given up.
        """
        data = memoryview(packed(message))
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                if not self._outgoing.select(_left(until)):
                    raise TimeoutError from None
            except BrokenPipeError:
                raise self._ended() from None

    def receive(self, until: float | None) -> list[Reply]:
        """Return the replies that are there, at least one, once there is one.

        Raises:
            UserError: if the process has ended, or sent what no agent's process sends.
            TimeoutError: if none came until then.
        """
        replies: list[Reply] = []
        while not replies:
            left = _left(until)
            ready = self._incoming.select(left)
            if left == 0:
                raise TimeoutError
            try:
                for key, _ in sorted(ready, key=lambda one: _ORDER.index(one[0].data)):
                    replies += self._read(key)
            except WireError as error:
                self.close()
                raise UserError(f"{self._named} sent {error}", exit_code=1) from None
        return replies

    def close(self) -> None:
        """End the process: an isolated one at once, another when it has ended what it does."""
        if not self._open:
            return
        self._open = False
        try:
            self._outgoing.close()
            os.close(self._requests)
            if not self._isolated:
                self._wait()
        finally:
            self._process.kill()
            self._process.wait()
            self._incoming.close()
            os.close(self._replies)
            for stream in (self._process.stdout, self._process.stderr):
                if stream:
                    stream.close()

    def _wait(self) -> None:
        """Wait until the process has ended, and show what it prints."""
        until = time.monotonic() + _GRACE
        while self._incoming.get_map() and (left := _left(until)):
            for key, _ in self._incoming.select(min(left, 0.1)):
                with suppress(WireError):
                    for _ in self._read(key):
                        continue
            # What it started may live on, and hold its streams.
            if self._process.poll() is not None and not self._incoming.select(0):
                return

    def _read(self, key: selectors.SelectorKey) -> Iterator[Reply]:
        """Take what a stream holds; yield the replies in it."""
        data = os.read(key.fd, _CHUNK)
        if not data:
            self._incoming.unregister(key.fileobj)
        if key.data in _SHOWN:
            self._show(key.data, self._decoders[key.data].decode(data))
        elif data:
            for content in self._inbox.add(data):
                yield reply_of(content)
        elif self._open:
            raise self._ended()

    def _show(self, stream: Stream, text: str) -> None:
        if self._isolated:
            self._said = (self._said + text)[-_TOLD:] if stream == "err" else self._said
            return
        where = _SHOWN[stream]()
        where.write(text)
        where.flush()

    def _ended(self) -> UserError:
        """Return what to raise where the process has ended without being asked to."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.poll()
        for key, _ in self._incoming.select(0):
            if key.data in _SHOWN:
                [*self._read(key)]
        self.close()
        how = "closed its pipe" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        last = self._said.strip().splitlines()[-1:]
        said = f": {visible(last[0])}" if last else ""
        return UserError(f"the process of {self._named} {how}{said}", exit_code=1)


_SHOWN: dict[str, Callable[[], Any]] = {"out": lambda: sys.stdout, "err": lambda: sys.stderr}
_ORDER = ("out", "err", "replies")
"""What was printed before an answer is shown before it."""


def _started(
    theirs: tuple[int, int], named: str, files: tuple[Path, ...] | None
) -> subprocess.Popen[bytes]:
    # Without -P, a file in the working directory would take the place of a module of Python's.
    flags = ["-P", *(["-B"] if sys.dont_write_bytecode else [])]
    path = [str(Path(entry or ".").absolute()) for entry in sys.path]
    command = [sys.executable, *flags, "-c", _BEGIN, *map(str, theirs), *path]
    if files is None:
        pipe = subprocess.PIPE
        return subprocess.Popen(command, pass_fds=theirs, stdout=pipe, stderr=pipe, bufsize=0)
    with TemporaryFile() as calls:
        calls.write(no_processes(platform.machine()))
        calls.seek(0)
        return subprocess.Popen(
            isolated(command, files, named, calls.fileno()),
            pass_fds=(*theirs, calls.fileno()),
            env={},  # bubblewrap's own is there to be read in /proc/1
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )


def _pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    """Return our ends and theirs, of the requests and of the replies."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    return (ours_out, ours_in), (theirs_in, theirs_out)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())
