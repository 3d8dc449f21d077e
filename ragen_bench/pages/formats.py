"""Formats: figures as the pages write them, and their places in drawings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ragen_bench.runs.schema import RunConfig
from ragen_bench.statistics import detectable_between

NONE = "–"  # noqa: RUF001 - an en dash, as tables have it
_MINUS = "\N{MINUS SIGN}"


def percent(rate: float | None) -> str:
    """Return a rate in per cent, with one digit."""
    return NONE if rate is None else fixed(100 * rate, 1)


def figure(value: Any) -> str:
    """Return any figure: whole numbers in full, others with three significant digits at least."""
    if value is None:
        return NONE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else _fraction(value)
    return text.replace("-", _MINUS)


def _fraction(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 1 or value == 0:
        return f"{value:.2f}"
    rounded = f"{value:.3g}"
    # In full, as prices are read: 0.00008, not 8e-05.
    return f"{Decimal(rounded):f}" if abs(value) >= 1e-6 else rounded


def fixed(value: float | None, digits: int = 2) -> str:
    """Return a number with so many digits behind the point."""
    if value is None:
        return NONE
    # Adding 0 turns -0.0, which would be shown with its sign, into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", _MINUS)


def found_beside(interval: Sequence[float], digits: int = 3) -> str:
    """Return how far another such figure must be to be told from one with this 95 % interval."""
    least = detectable_between((interval[0], interval[1]))
    return fixed(least, digits)


def short(env: str) -> str:
    """Return an environment's name without its namespace."""
    return env.rpartition("/")[2]


def words(name: str) -> str:
    """Return a field's name as words."""
    return name.replace("_", " ")


def sampling(config: RunConfig) -> str:
    """Return how a run was sampled; with a setting that its server refused, by the server's own."""
    refused = config.left_to_server
    top_p = f", top-p {config.top_p}" if config.top_p != 1 and "top_p" not in refused else ""
    if "temperature" in refused:
        return f"the server's own temperature{top_p}"
    return "greedy" if config.temperature == 0 else f"temperature {config.temperature}{top_p}"


def by_measure(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the measures of several environments, by name; one without a figure is left out.

    Args:
        rows: mappings whose values are figures, lists of figures, or mappings like these.
    """
    flat = [dict(_flat(row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name, value in row.items() if value is not None)
    return {name: [row.get(name) for row in flat] for name in names}


def _flat(measures: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in measures.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}: {inner}", item) for inner, item in _flat(value))
        elif isinstance(value, list):
            yield from ((f"{name} {number}", item) for number, item in enumerate(value, start=1))
        else:
            yield name, value


def place(value: float, start: float, length: float, low: float = 0.0, high: float = 1.0) -> str:
    """Return where a value lies on an axis that is drawn from `start` on, as SVG wants it.

    Values beyond the axis lie at its ends. A negative length draws the axis upwards.
    """
    share = (min(max(value, low), high) - low) / (high - low)
    return f"{start + length * share:.2f}".rstrip("0").rstrip(".")


FORMATS = (percent, figure, fixed, found_beside, short, words, sampling, by_measure, place)
"""The filters of the templates."""
