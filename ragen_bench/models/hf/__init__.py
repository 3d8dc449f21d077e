"""Hugging Face models in this process, with continuous batching."""

from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider


@provider(
    "hf",
    form="hf/NAME-OR-DIR",
    help="a Hugging Face model, in this process",
    extra="hf",
    needs=("torch", "transformers"),
    tools=True,
    batched=True,
    marks=True,
)
def load_hf(name: str, settings: ModelSettings) -> Model:
    """Load a model of transformers from the hub or a folder."""
    from ragen_bench.models.hub import find_model

    name = find_model(name, "hf/")
    from ragen_bench.models.hf.model import SLOTS, HFModel

    return HFModel(name, settings.concurrency_or(SLOTS), settings.thinking_marks)
