"""The base environment and its parts; `TextEnv` is the class to extend.

The names below are all that a game needs. They are imported at their first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragen_envs.core.boards import Board, Tile
    from ragen_envs.core.budget import Budget
    from ragen_envs.core.instances import RandomStream, content_hash, partition_of
    from ragen_envs.core.protocol import ActionReader, Function
    from ragen_envs.core.text_env import TextEnv

_MODULES = {
    "ActionReader": "protocol",
    "Board": "boards",
    "Budget": "budget",
    "Function": "protocol",
    "RandomStream": "instances",
    "TextEnv": "text_env",
    "Tile": "boards",
    "content_hash": "instances",
    "partition_of": "instances",
}
__all__ = [
    "ActionReader",
    "Board",
    "Budget",
    "Function",
    "RandomStream",
    "TextEnv",
    "Tile",
    "content_hash",
    "partition_of",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
