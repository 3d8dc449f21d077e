"""The ASGI application that serves an environment by OpenEnv's protocol, and its server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import ConcurrencyConfig, create_fastapi_app
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.integrations.openenv.environment import (
    InlineEnvironment,
    TextAction,
    TextEnvironment,
    TextObservation,
    TextState,
)
from ragen_envs.integrations.openenv.served import FailedError, Limits, RefusedError, Served

_SHUTDOWN_SECONDS = 5
"""Maximum seconds for sessions to end at a shutdown."""
_STATUS = {RefusedError: 400, FailedError: 500}


def app(
    env: str | Served,
    splits: Sequence[Split] = (),
    response_format: ResponseFormat = "think",
    *,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    options: Mapping[str, object] | None = None,
) -> FastAPI:
    """Return the ASGI application that serves an environment.

    Args:
        env: Id in Gymnasium's registry, MODULE:ID to import the module that registers it, or the
            result of `Served.of`, which already holds the next two arguments and `options`.
        splits: Splits to serve, the default first; see `Served.of`.
        response_format: Format of the responses.
        limits: Limits of the server.
        options: Extra arguments of the environment.

    Raises:
        ValueError: The environment cannot be made, is not a text environment, or a sealed split
            lacks its key.
    """
    served = env if isinstance(env, Served) else Served.of(env, splits, response_format, options)
    application: FastAPI = create_fastapi_app(
        partial(InlineEnvironment if served.ours else TextEnvironment, served),
        TextAction,
        TextObservation,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=limits.max_sessions, session_timeout=limits.idle_timeout
        ),
        env_name=served.name,
        state_cls=TextState,
    )
    application.state.limits = limits
    for kind in _STATUS:
        application.add_exception_handler(kind, _error_response)
    application.add_middleware(Guard, limits=limits)
    application.add_middleware(
        TrustedHostMiddleware, allowed_hosts=list(limits.hosts), www_redirect=False
    )
    return application


def serve(application: FastAPI, listening: socket.socket) -> None:
    """Serve the application of `app` on a listening socket until the process is stopped."""
    server_of(application).run(sockets=[listening])


def server_of(application: FastAPI) -> uvicorn.Server:
    """Return the limited server of an application; compressed messages could hide large ones."""
    return uvicorn.Server(
        uvicorn.Config(
            application,
            ws_max_size=application.state.limits.max_message,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            log_level="warning",
        )
    )


async def _error_response(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=_STATUS[type(error)])


_POLICY, _TOO_BIG = 1008, 1009
"""Close codes of RFC 6455."""


class Guard:
    """ASGI middleware that enforces a server's limits, except the hosts, which Starlette checks."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._is_allowed(Headers(scope=scope)):
            refusal = PlainTextResponse("this Origin is not allowed\n", status_code=403)
            await refusal(scope, receive, send)
        elif scope["type"] == "http":
            await self._app(scope, self._body(receive), send)
        else:
            await self._app(scope, self._messages(receive, send), send)

    def _is_allowed(self, headers: Headers) -> bool:
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
                code, reason = _POLICY, f"idle for {self._limits.idle_timeout:g} seconds"
            else:
                content = message.get("text") or message.get("bytes") or ""
                if len(content) <= self._limits.max_message:
                    return message
                code, reason = _TOO_BIG, f"a message is longer than {self._limits.max_message}"
            await send({"type": "websocket.close", "code": code, "reason": reason})
            return {"type": "websocket.disconnect", "code": code, "reason": reason}

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
