"""Scores language-model agents on text environments: runs, records, statistics, reports.

`evaluate` scores a model, and `Run` reads what it left, see docs/python.md.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragen_bench.api import evaluate
    from ragen_bench.errors import UserError
    from ragen_bench.finished import Baseline, EnvFigures, Run

_MODULES = {
    "evaluate": "api",
    "UserError": "errors",
    "Baseline": "finished",
    "EnvFigures": "finished",
    "Run": "finished",
}
__all__ = ["Baseline", "EnvFigures", "Run", "UserError", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the package alone is imported at once."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ImportError as missing:
        from ragen_bench.errors import missing_extra

        raise missing_extra(missing, "bench") from missing


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
