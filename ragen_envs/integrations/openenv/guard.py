"""The ASGI middleware that keeps a server's limits, in front of OpenEnv's application."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragen_envs.integrations.openenv.limits import Limits

_POLICY, _TOO_BIG = 1008, 1009
"""Codes of RFC 6455 for a connection that is closed."""


class Guard:
    """Refuses foreign origins, and ends connections that are idle or whose messages are too long.

    Args:
        app: what is guarded.
        limits: those to keep; the hosts are Starlette's to check.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._is_known(Headers(scope=scope)):
            refusal = PlainTextResponse("this Origin is not allowed\n", status_code=403)
            await refusal(scope, receive, send)
        elif scope["type"] == "http":
            await self._app(scope, self._body(receive), send)
        else:
            await self._app(scope, self._messages(receive, send), send)

    def _is_known(self, headers: Headers) -> bool:
        """Whether a request is of no browser's page, or of one that may connect."""
        origin, allowed = headers.get("origin"), self._limits.origins
        if origin is None or "*" in allowed or origin in allowed:
            return True
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()

    def _messages(self, receive: Receive, send: Send) -> Receive:
        """Return the messages of a connection, and its end where a limit is passed."""

        async def next_message() -> Message:
            try:
                async with asyncio.timeout(self._limits.idle_timeout):
                    message = await receive()
            except TimeoutError:
                reason = f"idle for {self._limits.idle_timeout:g} seconds"
                return await _ended(send, _POLICY, reason)
            content = message.get("text") or message.get("bytes") or ""
            if len(content) > self._limits.max_message:
                reason = f"a message is longer than {self._limits.max_message}"
                return await _ended(send, _TOO_BIG, reason)
            return message

        return next_message

    def _body(self, receive: Receive) -> Receive:
        """Return the parts of a request, and an error where a limit is passed."""
        read = 0

        async def next_part() -> Message:
            nonlocal read
            try:
                async with asyncio.timeout(self._limits.idle_timeout):
                    message = await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            if read > self._limits.max_message:
                raise HTTPException(413, f"a request has at most {self._limits.max_message} bytes")
            return message

        return next_part


async def _ended(send: Send, code: int, reason: str) -> Message:
    """Close a connection, and return what the application is told of it."""
    await send({"type": "websocket.close", "code": code, "reason": reason})
    return {"type": "websocket.disconnect", "code": code, "reason": reason}
