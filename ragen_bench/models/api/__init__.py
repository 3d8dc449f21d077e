"""Models on servers: OpenAI's chat protocol in its dialects, and Anthropic and Google."""

from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider


@provider(
    "openai",
    form="openai/NAME",
    help="a model on an OpenAI-compatible server, at --base-url",
    extra="openai",
    needs=("openai",),
    tools=True,
    pictures=True,
    constrained=True,
    top_p=True,
    served=True,
    marks=True,
)
def load_openai(name: str, settings: ModelSettings) -> Model:
    """Connect to an OpenAI-compatible server, and check that it serves the model."""
    from ragen_bench.models.api.server_model import OpenAIModel

    model = OpenAIModel(name, settings.server, thinking_marks=settings.thinking_marks)
    model.probe()
    return model


@provider(
    "anthropic",
    form="anthropic/NAME",
    help="a model of Anthropic, by its own protocol",
    extra="providers",
    needs=("any_llm", "openai"),
    tools=True,
    top_p=True,
    seeded=False,
    served=True,
    marks=True,
)
def load_anthropic(name: str, settings: ModelSettings) -> Model:
    """Connect to Anthropic's API."""
    from ragen_bench.models.api.any_llm_model import AnyLLMModel

    return AnyLLMModel("anthropic", name, settings.server, settings.thinking_marks)


@provider(
    "google",
    form="google/NAME",
    help="a model of Google, by its own protocol",
    extra="providers",
    needs=("any_llm", "openai"),
    tools=True,
    top_p=True,
    served=True,
    marks=True,
)
def load_google(name: str, settings: ModelSettings) -> Model:
    """Connect to Google's API."""
    from ragen_bench.models.api.any_llm_model import AnyLLMModel

    return AnyLLMModel("google", name, settings.server, settings.thinking_marks)
