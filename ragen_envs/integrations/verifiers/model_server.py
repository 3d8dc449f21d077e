"""A local model server whose completions the caller gives, for verifiers."""

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
    """Return the process's event loop of all episodes, as in verifiers' own commands."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="verifiers", daemon=True).start()
    return loop


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the loop, and return its future."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


class ModelServer:
    """A chat completions server; the caller reads each request and gives the response.

    Attributes:
        requests: Conversation of each request; None after the last one.
    """

    def __init__(self) -> None:
        self.requests: SimpleQueue[Messages | None] = SimpleQueue()
        self._response: asyncio.Future[str | None] | None = None
        self._closed = False

    def next_request(self, timeout: float) -> Messages | None:
        """Return the conversation of the next request, None after the last one.

        Raises:
            TimeoutError: No request comes within `timeout` seconds.
        """
        try:
            return self.requests.get(timeout=timeout)
        except Empty:
            raise TimeoutError(f"verifiers sent no request within {timeout:g} seconds") from None

    def respond(self, text: str | None) -> None:
        """Respond to the pending request; None rejects it."""
        pending, self._response = self._response, None
        if pending is not None:
            _loop().call_soon_threadsafe(pending.set_result, text)

    def close(self) -> None:
        """Reject this and all later requests."""
        self._closed = True
        self.respond(None)

    async def listen(self) -> tuple[web.AppRunner, str]:
        """Start the server; return its runner, which needs a cleanup, and its address."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/chat/completions", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        return runner, f"http://127.0.0.1:{port}"

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self._response = pending = asyncio.get_running_loop().create_future()
        self.requests.put(body["messages"])
        text = None if self._closed else await pending
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
