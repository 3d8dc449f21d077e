"""Text environments as OpenEnv servers for any OpenEnv client.

Needs the extra `openenv`:

    from ragen_envs.integrations.openenv import app
    app("ragen/Sokoban-v0")  # an ASGI application

`ragen-envs serve ragen/Sokoban-v0 --openenv` runs the same application.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ragen_envs.core import extras
from ragen_envs.integrations.openenv.limits import Limits
from ragen_envs.integrations.openenv.served import FailedError, RefusedError, Served, served_name

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.environment import TextEnvironment as TextEnvironment
    from ragen_envs.integrations.openenv.messages import TextAction as TextAction
    from ragen_envs.integrations.openenv.messages import TextInfo as TextInfo
    from ragen_envs.integrations.openenv.messages import TextObservation as TextObservation
    from ragen_envs.integrations.openenv.messages import TextState as TextState
    from ragen_envs.integrations.openenv.server import app as app
    from ragen_envs.integrations.openenv.server import serve as serve

if find_spec("openenv") is None:
    raise extras.missing("ragen_envs.integrations.openenv", "openenv", "openenv")

_LAZY = {
    "TextAction": "messages",
    "TextEnvironment": "environment",
    "TextObservation": "messages",
    "TextState": "messages",
    "TextInfo": "messages",
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


def __getattr__(name: str) -> Any:
    """Import a name that needs openenv at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
