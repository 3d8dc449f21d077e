"""The user's own agents: in a subprocess, on request sandboxed by bubblewrap."""

from ragen_bench.models.base import Model
from ragen_bench.models.provider import ModelSettings, provider

CONCURRENCY = 8
"""Episodes that an `async def` agent plays at once, by default."""


@provider(
    "python",
    form="python:MODULE:ATTRIBUTE",
    help="your own agent: a function of a list of messages, or a class",
    seeded=False,
    user_code=True,
    options=("concurrency", "timeout"),
)
def load_agent(name: str, settings: ModelSettings) -> Model:
    """Import an agent where the settings say."""
    module, _, attribute = name.partition(":")
    concurrency = settings.concurrency_or(CONCURRENCY)
    if settings.isolation.level == "none":
        from ragen_bench.models.agents.function import FunctionModel

        return FunctionModel(module, attribute, concurrency)
    from ragen_bench.models.agents.subprocess_model import SubprocessModel

    return SubprocessModel(module, attribute, concurrency, settings.isolation)
