"""A seat at which a caller plays a model's part: a server that verifiers takes for the model's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from aiohttp import web

T = TypeVar("T")
Messages = list[dict[str, Any]]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process in which all episodes run, as in verifiers' own commands."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="verifiers", daemon=True).start()
    return loop


def started(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the loop, and return what it will give."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


class Seat:
    """Where a model is asked, and the caller answers.

    Attributes:
        questions: the conversation, each time the model is asked; None when it is asked no more.
    """

    def __init__(self) -> None:
        self.questions: SimpleQueue[Messages | None] = SimpleQueue()
        self._answered: asyncio.Future[str | None] | None = None
        self._left = False

    def question(self, timeout: float) -> Messages | None:
        """Return the next conversation to answer to, None if there is none.

        Raises:
            TimeoutError: if none comes within so many seconds.
        """
        try:
            return self.questions.get(timeout=timeout)
        except Empty:
            raise TimeoutError(
                f"verifiers asked for no answer within {timeout:g} seconds"
            ) from None

    def answer(self, text: str | None) -> None:
        """Answer what was asked; None refuses to."""
        answered, self._answered = self._answered, None
        if answered is not None:
            _loop().call_soon_threadsafe(answered.set_result, text)

    def leave(self) -> None:
        """Refuse all answers from now on."""
        self._left = True
        self.answer(None)

    async def listen(self) -> tuple[web.AppRunner, str]:
        """Return a server for this seat, to be cleaned up, and its address."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/chat/completions", self._ask)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        return runner, f"http://127.0.0.1:{port}"

    async def _ask(self, request: web.Request) -> web.Response:
        body = await request.json()
        self._answered = answered = asyncio.get_running_loop().create_future()
        self.questions.put(body["messages"])
        text = None if self._left else await answered
        if text is None:
            return web.json_response({"error": {"message": "the player left"}}, status=400)
        message = {"role": "assistant", "content": text}
        return web.json_response(
            {
                "id": "played",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }
        )
