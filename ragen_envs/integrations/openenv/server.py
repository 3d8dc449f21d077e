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
from ragen_envs.integrations.openenv.errors import FailedError, RefusedError
from ragen_envs.integrations.openenv.guard import Guard
from ragen_envs.integrations.openenv.limits import Limits
from ragen_envs.integrations.openenv.messages import TextAction, TextObservation, TextState
from ragen_envs.integrations.openenv.served import Served

_FAREWELL = 5
"""Seconds that sessions have to end when the server does."""
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
        env: an id of Gymnasium's registry, MODULE:ID to import the module that registers it, or
            what `Served.of` returned, to which the next two and `options` belong.
        splits: those to serve, the default first; none for train, val and test of a game of
            this suite, and for what another environment has without an argument.
        response_format: the form of the answers.
        limits: what the server allows.
        options: further arguments of the environment.

    Raises:
        ValueError: for an id, a split or an option that leads to no environment, one that is not
            a text environment, or a sealed split without its key.
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
        application.add_exception_handler(kind, _answered)
    application.add_middleware(Guard, limits=limits)
    application.add_middleware(
        TrustedHostMiddleware, allowed_hosts=list(limits.hosts), www_redirect=False
    )
    return application


def serve(application: FastAPI, listening: socket.socket) -> None:
    """Serve an application until the process is told to end.

    Args:
        application: what `app` returned.
        listening: a socket that listens.
    """
    server_of(application).run(sockets=[listening])


def server_of(application: FastAPI) -> uvicorn.Server:
    """Return the server of an application, which keeps its limits.

    Messages are not compressed: they are small, and a short one could grow large.
    """
    return uvicorn.Server(
        uvicorn.Config(
            application,
            ws_max_size=application.state.limits.max_message,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=_FAREWELL,
            log_level="warning",
        )
    )


async def _answered(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=_STATUS[type(error)])
