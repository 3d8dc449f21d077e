"""Filters of the templates: number formats, and coordinates in charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ragen_bench.people import describe_people, is_human
from ragen_bench.runs.schema import RunConfig
from ragen_bench.statistics import detectable_between

NONE = "–"  # noqa: RUF001 - an en dash, as tables have it
_MINUS = "\N{MINUS SIGN}"


def percent(rate: float | None) -> str:
    """Return a rate in percent, with one decimal."""
    return NONE if rate is None else fixed(100 * rate, 1)


def figure(value: object) -> str:
    """Return any value: integers in full, other numbers with at least three significant digits."""
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
    # Prices are easier to read in full: 0.00008, not 8e-05.
    return f"{Decimal(rounded):f}" if abs(value) >= 1e-6 else rounded


def fixed(value: float | None, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals."""
    if value is None:
        return NONE
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", _MINUS)


def found_beside(interval: Sequence[float], digits: int = 3) -> str:
    """Return the detectable distance to another value with a 95 % interval of this width."""
    return fixed(detectable_between((interval[0], interval[1])), digits)


def short(env: str) -> str:
    """Return an environment id without its namespace."""
    return env.rpartition("/")[2]


def words(name: str) -> str:
    """Return the name of a field as words."""
    return name.replace("_", " ")


def sampling(config: RunConfig) -> str:
    """Describe the sampling of a run; settings that the server refused are the server's own."""
    if is_human(config.model):
        return "people, no sampling"
    refused = config.left_to_server
    top_p = f", top-p {config.top_p}" if config.top_p != 1 and "top_p" not in refused else ""
    if "temperature" in refused:
        return f"the server's own temperature{top_p}"
    return "greedy" if config.temperature == 0 else f"temperature {config.temperature}{top_p}"


def by_measure(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Return the values of environments by metric, of rows of numbers, lists or nested mappings."""
    flat = [dict(_flat(row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name, value in row.items() if value is not None)
    return {name: [row.get(name) for row in flat] for name in names}


def _flat(measures: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in measures.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}: {inner}", item) for inner, item in _flat(value))
        elif isinstance(value, list):
            yield from ((f"{name} {number}", item) for number, item in enumerate(value, start=1))
        else:
            yield name, value


def place(value: float, start: float, length: float, low: float = 0.0, high: float = 1.0) -> str:
    """Return the SVG coordinate of a clipped value; a negative length draws upwards."""
    fraction = (min(max(value, low), high) - low) / (high - low)
    return f"{start + length * fraction:.2f}".rstrip("0").rstrip(".")


FORMATS = (
    *(percent, figure, fixed, found_beside, short, words, sampling, by_measure, place),
    describe_people,
)
"""Filters of all templates."""
