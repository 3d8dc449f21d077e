"""The suites as Inspect tasks: data set, solver, scorer and metrics.

This needs the extra `inspect`. Inspect finds the tasks by name:

    inspect eval ragen_bench/quick --model openai/gpt-4o-mini
"""

from ragen_bench.errors import missing_extra

try:
    import inspect_ai as _inspect_ai  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "inspect_ai":
        raise
    raise missing_extra(missing, "inspect") from None

from ragen_bench.inspect.scoring import figures_of_episode
from ragen_bench.inspect.solving import play
from ragen_bench.inspect.tasks import core, core_2, envs, full, quick

__all__ = ["core", "core_2", "envs", "figures_of_episode", "full", "play", "quick"]
