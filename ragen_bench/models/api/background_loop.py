"""An event loop in a thread of its own, for callers without one and beside their own."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


class BackgroundLoop:
    """Runs coroutines in a thread of its own, so that it works where a loop runs already.

    The thread ends when nothing refers to this object any more. It is a daemon: it ends with the
    process as well, and so does what is in flight.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
        stop = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)
        stop.atexit = False

    def start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start a coroutine and return its future, whose cancellation cancels the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what a coroutine returns; if the caller is interrupted, it is cancelled."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and close what it holds."""
    # What leaves the process in a task of its own would stop the loop, and all would wait for ever.
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
            loop.close()
