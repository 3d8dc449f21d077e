"""Text environments as OpenEnv servers, which any client of OpenEnv plays.

Needs the extra `openenv`:

    from ragen_envs.integrations.openenv import app
    app("ragen/Sokoban-v0")  # an ASGI application

`ragen-envs serve ragen/Sokoban-v0 --openenv` runs the same.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ragen_envs.core import extras
from ragen_envs.integrations.openenv.limits import Limits
from ragen_envs.integrations.openenv.served import Served, served_name

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.environment import TextEnvironment as TextEnvironment
    from ragen_envs.integrations.openenv.errors import FailedError as FailedError
    from ragen_envs.integrations.openenv.errors import RefusedError as RefusedError
    from ragen_envs.integrations.openenv.messages import TextAction as TextAction
    from ragen_envs.integrations.openenv.messages import TextObservation as TextObservation
    from ragen_envs.integrations.openenv.messages import TextState as TextState
    from ragen_envs.integrations.openenv.messages import Told as Told
    from ragen_envs.integrations.openenv.server import app as app
    from ragen_envs.integrations.openenv.server import serve as serve

if find_spec("openenv") is None:
    raise extras.missing("ragen_envs.integrations.openenv", "openenv", "openenv")

_OF_OPENENV = {
    "FailedError": "errors",
    "RefusedError": "errors",
    "TextAction": "messages",
    "TextEnvironment": "environment",
    "TextObservation": "messages",
    "TextState": "messages",
    "Told": "messages",
    "app": "server",
    "serve": "server",
}
"""What imports openenv, which takes seconds, by the module that has it."""

__all__ = [
    "FailedError",
    "Limits",
    "RefusedError",
    "Served",
    "TextAction",
    "TextEnvironment",
    "TextObservation",
    "TextState",
    "Told",
    "app",
    "serve",
    "served_name",
]


def __getattr__(name: str) -> Any:
    """Import what needs OpenEnv when it is first asked for."""
    if name not in _OF_OPENENV:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OF_OPENENV[name]}"), name)
