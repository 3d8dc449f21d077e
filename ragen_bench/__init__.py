"""Scores language-model agents on text environments: runs, records, statistics, reports.

`evaluate` scores a model, `Run` reads a run directory, `compare` and `analyse` explain runs; see
docs/python.md.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragen_bench.api import evaluate
    from ragen_bench.errors import UserError
    from ragen_bench.findings import (
        Comparison,
        Difference,
        EnvAnalysis,
        EnvComparison,
        FailureCause,
        analyse,
        compare,
    )
    from ragen_bench.run import Baseline, EnvMetrics, Run
    from ragen_bench.runs.schema import EpisodeRecord as Episode
    from ragen_bench.runs.schema import TurnRecord as Turn
    from ragen_bench.statistics import Estimate

_SOURCES = {
    "Baseline": "run",
    "Comparison": "findings",
    "Difference": "findings",
    "EnvAnalysis": "findings",
    "EnvComparison": "findings",
    "EnvMetrics": "run",
    "Episode": "runs.schema:EpisodeRecord",
    "Estimate": "statistics",
    "FailureCause": "findings",
    "Run": "run",
    "Turn": "runs.schema:TurnRecord",
    "UserError": "errors",
    "analyse": "findings",
    "compare": "findings",
    "evaluate": "api",
}
"""Modules of the public names, with the name in the module where it differs."""
__all__ = [
    "Baseline",
    "Comparison",
    "Difference",
    "EnvAnalysis",
    "EnvComparison",
    "EnvMetrics",
    "Episode",
    "Estimate",
    "FailureCause",
    "Run",
    "Turn",
    "UserError",
    "analyse",
    "compare",
    "evaluate",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use; `import ragen_bench` alone imports nothing else."""
    if name not in _SOURCES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _SOURCES[name].partition(":")
    try:
        return getattr(import_module(f"{__name__}.{module}"), attribute or name)
    except ImportError as missing:
        from ragen_bench.errors import missing_extra

        raise missing_extra(missing, "bench") from missing


def __dir__() -> list[str]:
    return [*globals(), *_SOURCES]
