"""Models behind one small protocol: a package per provider, see `provider.py`."""

from ragen_bench.models.api.options import ServerOptions
from ragen_bench.models.base import (
    Completion,
    Engine,
    Message,
    Model,
    Request,
    RequestFailure,
    Sampling,
    ask_all,
    notes_of,
)
from ragen_bench.models.provider import (
    Isolation,
    ModelSettings,
    Provider,
    find_provider,
    list_providers,
    provider,
    resolve,
)

__all__ = [
    "Completion",
    "Engine",
    "Isolation",
    "Message",
    "Model",
    "ModelSettings",
    "Provider",
    "Request",
    "RequestFailure",
    "Sampling",
    "ServerOptions",
    "ask_all",
    "find_provider",
    "list_providers",
    "notes_of",
    "provider",
    "resolve",
]
