"""ASGI middleware that enforces a server's limits."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragen_envs.integrations.openenv.limits import Limits

_POLICY, _TOO_BIG = 1008, 1009
"""Close codes of RFC 6455."""


class Guard:
    """Rejects unknown origins, and closes connections that are idle or send long messages.

    Args:
        app: The application.
        limits: The limits; Starlette checks the hosts.
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
        """Return whether a request is from an allowed page, or not from a page."""
        origin, allowed = headers.get("origin"), self._limits.origins
        if origin is None or "*" in allowed or origin in allowed:
            return True
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()

    def _messages(self, receive: Receive, send: Send) -> Receive:
        """Return a receiver of messages that closes the connection beyond a limit."""

        async def next_message() -> Message:
            try:
                async with asyncio.timeout(self._limits.idle_timeout):
                    message = await receive()
            except TimeoutError:
                reason = f"idle for {self._limits.idle_timeout:g} seconds"
                return await _close(send, _POLICY, reason)
            content = message.get("text") or message.get("bytes") or ""
            if len(content) > self._limits.max_message:
                reason = f"a message is longer than {self._limits.max_message}"
                return await _close(send, _TOO_BIG, reason)
            return message

        return next_message

    def _body(self, receive: Receive) -> Receive:
        """Return a receiver of a request's parts that fails beyond a limit."""
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


async def _close(send: Send, code: int, reason: str) -> Message:
    """Close a connection, and return the disconnect message for the application."""
    await send({"type": "websocket.close", "code": code, "reason": reason})
    return {"type": "websocket.disconnect", "code": code, "reason": reason}
