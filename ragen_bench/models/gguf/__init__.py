"""GGUF files in llama.cpp, in this process."""

from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider


@provider(
    "gguf",
    form="gguf/PATH",
    help="a GGUF file in llama.cpp, in this process",
    extra="gguf",
    needs=("httpx", "openai", "xllamacpp"),
    tools=True,
    constrained=True,
    top_p=True,
    marks=True,
)
def load_gguf(path: str, settings: ModelSettings) -> Model:
    """Load a GGUF file into llama.cpp."""
    from ragen_bench.models.gguf.model import GGUFModel
    from ragen_bench.models.hub import expand_home

    return GGUFModel(expand_home(path), thinking_marks=settings.thinking_marks)
