"""The ASGI application that serves an environment by OpenEnv's protocol, and its server."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import ConcurrencyConfig
from openenv.core.env_server.types import ServerMode
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragen_envs.core.instances import Split
from ragen_envs.core.local_servers import find_refusal
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.integrations.openenv.environment import (
    InlineEnvironment,
    TextAction,
    TextEnvironment,
    TextObservation,
    TextState,
)
from ragen_envs.integrations.openenv.served import FailedError, Limits, RefusedError, Served
from ragen_envs.integrations.openenv.sessions import CLIENT, SharedServer, client_of

_SHUTDOWN_SECONDS = 5
"""Maximum seconds for sessions to end at a shutdown."""
_REFUSED = {"host": 400, "origin": 403}
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

    `env` is an id in Gymnasium's registry, MODULE:ID to import the module that registers it, or the
    result of `Served.of`, which already holds the splits, the response format and `options`, extra
    arguments of the environment. The first split is the default. Errors are those of `Served.of`.
    """
    served = env if isinstance(env, Served) else Served.of(env, splits, response_format, options)
    application = FastAPI(title="OpenEnv Environment HTTP API", version="1.0.0")
    server = SharedServer(
        partial(InlineEnvironment if served.ours else TextEnvironment, served),
        TextAction,
        TextObservation,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=limits.max_sessions, session_timeout=limits.idle_timeout
        ),
        max_per_client=limits.max_per_client,
        env_name=served.name,
        state_cls=TextState,
    )
    server.register_routes(application, os.environ.get("OPENENV_MODE", ServerMode.SIMULATION))
    application.state.limits = limits
    for kind in _STATUS:
        application.add_exception_handler(kind, _error_response)
    application.add_middleware(Guard, limits=limits)
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
            proxy_headers=False,  # a client could name any address as its own
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            log_level="warning",
        )
    )


async def _error_response(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=_STATUS[type(error)])


_POLICY, _TOO_BIG = 1008, 1009
"""Close codes of RFC 6455."""


class Guard:
    """ASGI middleware that enforces a server's limits, and remembers each request's client."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, limits = Headers(scope=scope), self._limits
        named = (headers.getlist(name) for name in ("host", "origin"))
        if refused := find_refusal(*named, hosts=limits.hosts, origins=limits.origins):
            refusal = PlainTextResponse(
                f"this {refused.title()} is not allowed\n", _REFUSED[refused]
            )
            await refusal(scope, receive, send)
            return
        is_connection = scope["type"] == "websocket"
        address = (scope.get("client") or ("",))[0]
        CLIENT.set(client_of(address, is_connection=is_connection))
        limited = self._messages(receive, send) if is_connection else self._body(receive)
        await self._app(scope, limited, send)

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
