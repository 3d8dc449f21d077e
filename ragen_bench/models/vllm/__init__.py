"""Models in vLLM's engine, in this process."""

from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider


@provider(
    "vllm",
    form="vllm/NAME-OR-DIR",
    help="a Hugging Face model in vLLM's engine, in this process: for GPUs",
    extra="vllm",
    needs=("vllm",),
    tools=True,
    constrained=True,
    top_p=True,
    batched=True,
    marks=True,
)
def load_vllm(name: str, settings: ModelSettings) -> Model:
    """Load a model from the hub or a folder into vLLM."""
    from ragen_bench.models.hub import find_model

    name = find_model(name, "vllm/")
    from ragen_bench.models.vllm.model import SLOTS, VLLMModel

    slots, marks = settings.concurrency_or(SLOTS), settings.thinking_marks
    return VLLMModel(name, slots, thinking_marks=marks)
