"""The engine of models that wait for others, as for a server: many requests in flight at once."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future

from ragen_bench.models.api.background_loop import BackgroundLoop
from ragen_bench.models.base import Completion, Fault, Request

Answer = Completion | Fault


class ServerEngine:
    """Asks for each answer as soon as it is submitted, and hands them out as they come.

    Args:
        loop: where the requests run.
        slots: how many are in flight at most; further ones wait.
        ask: from a request to its answer; a UserError ends the run.
    """

    def __init__(
        self, loop: BackgroundLoop, slots: int, ask: Callable[[Request], Awaitable[Answer]]
    ) -> None:
        self._loop, self._ask = loop, ask
        self._slots = asyncio.Semaphore(slots)
        self._in_flight: set[Future[Answer]] = set()
        self._failed: Future[Answer] | None = None
        self._done: queue.SimpleQueue[tuple[Request, Future[Answer]]] = queue.SimpleQueue()

    def submit(self, request: Request) -> None:
        """Send a request."""
        future = self._loop.start(self._answer(request))
        self._in_flight.add(future)
        future.add_done_callback(lambda done: self._done.put((request, done)))

    def collect(self) -> Sequence[tuple[Request, Answer]]:
        """Wait for an answer, and return all that are there, in the order in which they came.

        Those that are there together with a failure come first: they may finish an episode.

        Raises:
            UserError: if a request was refused for good.
        """
        if self._failed:
            self._failed.result()
        ended = [self._done.get()]
        while not self._done.empty():
            ended.append(self._done.get())
        self._in_flight.difference_update(future for _, future in ended)
        self._failed = next((future for _, future in ended if future.exception()), None)
        answers = [
            (request, future.result()) for request, future in ended if not future.exception()
        ]
        return answers or self.collect()

    def close(self) -> None:
        """Cancel what is in flight; its connections are closed."""
        for future in self._in_flight:
            future.cancel()
        self._in_flight = set()

    async def _answer(self, request: Request) -> Answer:
        async with self._slots:
            return await self._ask(request)
