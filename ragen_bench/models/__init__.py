"""Models behind one small protocol, one file a provider."""

from ragen_bench.models.api.options import ServerOptions
from ragen_bench.models.base import (
    Completion,
    Engine,
    Fault,
    Message,
    Model,
    Request,
    Sampling,
    ask_all,
    notes_of,
)
from ragen_bench.models.registry import PROVIDERS, resolve

__all__ = [
    "PROVIDERS",
    "Completion",
    "Engine",
    "Fault",
    "Message",
    "Model",
    "Request",
    "Sampling",
    "ServerOptions",
    "ask_all",
    "notes_of",
    "resolve",
]
