"""The engine of models that wait for others, such as servers: many requests at once on asyncio."""

from __future__ import annotations

import asyncio
import queue
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from ragen_bench.models.base import Completion, Request, RequestFailure

_T = TypeVar("_T")
Outcome = Completion | RequestFailure


class BackgroundLoop:
    """Runs coroutines on an event loop in a daemon thread, next to a loop of the caller."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run_loop, args=(self._loop,), daemon=True)
        self._thread.start()
        stop = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)
        stop.atexit = False

    def start(self, work: Coroutine[object, object, _T]) -> Future[_T]:
        """Start a coroutine and return its future, whose cancellation cancels the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Return the result of a coroutine; cancel it if the caller is interrupted."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a coroutine of this loop would wait for itself")
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    # A task that raises SystemExit would stop the loop, and all others would wait for ever.
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
            loop.close()


class AsyncEngine:
    """Sends up to `slots` requests at once; a UserError of `ask` ends the run."""

    def __init__(
        self, loop: BackgroundLoop, slots: int, ask: Callable[[Request], Awaitable[Outcome]]
    ) -> None:
        self._loop, self._ask = loop, ask
        self._slots = asyncio.Semaphore(slots)
        self._in_flight: set[Future[Outcome]] = set()
        self._failed: Future[Outcome] | None = None
        self._done: queue.SimpleQueue[tuple[Request, Future[Outcome]]] = queue.SimpleQueue()

    def submit(self, request: Request) -> None:
        """Send a request."""
        future = self._loop.start(self._ask_in_slot(request))
        self._in_flight.add(future)
        future.add_done_callback(lambda done: self._done.put((request, done)))

    def collect(self) -> Sequence[tuple[Request, Outcome]]:
        """Wait for a response; return all that have arrived, those before an error first."""
        if self._failed:
            self._failed.result()
        ended = [self._done.get()]
        while not self._done.empty():
            ended.append(self._done.get())
        self._in_flight.difference_update(future for _, future in ended)
        self._failed = next((future for _, future in ended if future.exception()), None)
        outcomes = [
            (request, future.result()) for request, future in ended if not future.exception()
        ]
        return outcomes or self.collect()

    def close(self) -> None:
        """Cancel the requests in flight, and close their connections."""
        for future in self._in_flight:
            future.cancel()
        self._in_flight = set()

    async def _ask_in_slot(self, request: Request) -> Outcome:
        async with self._slots:
            return await self._ask(request)
