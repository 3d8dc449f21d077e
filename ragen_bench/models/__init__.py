"""Models behind one small protocol, one file a provider."""

from ragen_bench.models.base import Completion, Message, Model, Request, Sampling
from ragen_bench.models.registry import PROVIDERS, resolve
from ragen_bench.models.server.options import ServerOptions

__all__ = [
    "PROVIDERS",
    "Completion",
    "Message",
    "Model",
    "Request",
    "Sampling",
    "ServerOptions",
    "resolve",
]
