"""The ASGI application that serves an environment by OpenEnv's protocol, and its server."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import ConcurrencyConfig, create_fastapi_app
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.integrations.openenv.environment import InlineEnvironment, TextEnvironment
from ragen_envs.integrations.openenv.guard import Guard
from ragen_envs.integrations.openenv.limits import Limits
from ragen_envs.integrations.openenv.messages import TextAction, TextObservation, TextState
from ragen_envs.integrations.openenv.served import FailedError, RefusedError, Served

_SHUTDOWN_SECONDS = 5
"""Maximum seconds for sessions to end at a shutdown."""
_STATUS = {RefusedError: 400, FailedError: 500}


def app(
    env: str | Served,
    splits: Sequence[Split] = (),
    response_format: ResponseFormat = "think",
    *,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    options: Mapping[str, Any] | None = None,
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
    """Return the server of an application, with its limits.

    Messages are not compressed, since a short compressed one could be very large.
    """
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
