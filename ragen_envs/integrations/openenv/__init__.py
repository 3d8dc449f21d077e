"""Text environments as OpenEnv servers for any OpenEnv client.

Needs the extra `openenv`:

    from ragen_envs.integrations.openenv import app
    app("ragen/Sokoban-v0")  # an ASGI application

`ragen-envs serve ragen/Sokoban-v0 --openenv` runs the same application.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragen_envs.core import extras
from ragen_envs.integrations.openenv.served import (
    FailedError,
    Limits,
    RefusedError,
    Served,
    served_name,
)

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.environment import (
        TextAction,
        TextEnvironment,
        TextInfo,
        TextObservation,
        TextState,
    )
    from ragen_envs.integrations.openenv.server import app, serve

if find_spec("openenv") is None:
    raise extras.missing("ragen_envs.integrations.openenv", "openenv", "openenv")

_LAZY = {
    "TextAction": "environment",
    "TextEnvironment": "environment",
    "TextObservation": "environment",
    "TextState": "environment",
    "TextInfo": "environment",
    "app": "server",
    "serve": "server",
}
"""Names whose modules import openenv, which takes seconds."""

__all__ = [
    "FailedError",
    "Limits",
    "RefusedError",
    "Served",
    "TextAction",
    "TextEnvironment",
    "TextInfo",
    "TextObservation",
    "TextState",
    "app",
    "serve",
    "served_name",
]


def __getattr__(name: str) -> object:
    """Import a name that needs openenv at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
