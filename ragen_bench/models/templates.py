"""Chat templates of others, rendered in a process with limits of time, memory and length.

A template is a program: it may loop without end, double a text forty times, or recurse until its
process breaks. The process is started at the first rendering, and again after one that broke it.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.chat_messages import RefusedConversationError
from ragen_bench.models.days import CLOCK
from ragen_bench.models.template_process import LONGEST

_PROGRAM = Path(__file__).with_name("template_process.py")
_BOOTSTRAP = (
    "import runpy, sys; sys.path += sys.argv[2:]; runpy.run_path(sys.argv[1], run_name='__main__')"
)
SECONDS = 5
"""Seconds of the processor for one rendering; ordinary ones take a millisecond."""
_WAIT = 60
"""Seconds until a rendering is given up on a machine that is busy with other work."""
_LIMITS = "it takes too much time or memory"
_LONGEST_ANSWER = 7 * LONGEST
"""Bytes of an answer, in which a character takes at most twelve and seldom more than one."""


class TemplateLimitError(UserError):
    """A rendering took too much time or memory, recursed too deeply, or its text is too long."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the model's chat template cannot be rendered within its limits ({reason}); evaluate "
            "a model with another template",
            exit_code=1,
        )


class _Process:
    """The process; several threads may use it, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request, b"" if the process ended before it."""
        with self._lock:
            # A fork shares the pipes with its parent, so it needs a process of its own.
            if self._child is None or self._owner != os.getpid():
                self._child, self._owner = _start(), os.getpid()
            try:
                answer = _exchange(self._child, request)
            except BaseException:
                self._end()
                raise
            if not answer:
                self._end()
            return answer

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.communicate()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()


_PROCESS = _Process()
atexit.register(_PROCESS.close)


def render(template: str, variables: Mapping[str, Any], day: str) -> str:
    """Return the text of a template in Jinja; RefusedConversationError if it fails.

    `variables` are JSON, and `day` is the date that it may write, in ISO format.
    TemplateLimitError if it exceeds its limits.
    """
    request = {
        **{"template": template, "variables": variables, "clock": CLOCK, "day": day},
        "seconds": SECONDS,
    }
    answer = _PROCESS.ask(json.dumps(request).encode() + b"\n")
    if not answer:
        raise TemplateLimitError(_LIMITS)
    content = json.loads(answer)
    if "error" in content:
        if content.get("limit"):
            raise TemplateLimitError(content["error"])
        raise RefusedConversationError(content["error"])
    text: str = content["text"]
    return text


def _start() -> subprocess.Popen[bytes]:
    # An isolated interpreter sees neither PYTHONPATH nor packages of the user, where Jinja may be.
    found = map(find_spec, ("jinja2", "markupsafe"))
    places = {str(Path(spec.origin).parents[1]) for spec in found if spec and spec.origin}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _BOOTSTRAP, str(_PROGRAM), *sorted(places)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this process
    )


def _exchange(child: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Send a request and return the answer's line, b"" if it does not come in time."""
    if child.stdin is None or child.stdout is None:
        return b""
    overdue = threading.Timer(_WAIT, child.kill)
    overdue.start()
    try:
        child.stdin.write(request)
        child.stdin.flush()
        answer = child.stdout.readline(_LONGEST_ANSWER)
    except BrokenPipeError:
        return b""
    finally:
        overdue.cancel()
    return answer if answer.endswith(b"\n") else b""
