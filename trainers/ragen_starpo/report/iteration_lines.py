"""Lines of a training run's files, checked: one for each iteration, with numbers by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Strict, TypeAdapter

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.checked import BadRecordError, read_record
from ragen_bench.runs.differences import brief
from ragen_bench.runs.json_lines import read_lines
from ragen_bench.runs.schema import LARGEST, Count, Number, Text
from ragen_starpo.diagnostics.cost import TOTALS

_HELD_OUT = "val/"
Measured = Annotated[float, Strict()]
"""Any number, also NaN and infinity: training may diverge."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow")
    iteration: Count


class _Metrics(_Line):
    __pydantic_extra__: dict[str, Measured | None]


class _Timings(_Line):
    __pydantic_extra__: dict[str, Number]


class _Warning(_Line):
    kind: Literal["early", "confirmed", "drift"]
    text: Text


def _read_metrics(line: object) -> _Metrics:
    found = read_record(_Metrics.model_validate, line)
    for name, value in found.__pydantic_extra__.items():
        is_exact = name in TOTALS.values() or name.startswith(_HELD_OUT)
        if is_exact and not (value is not None and abs(value) < LARGEST):
            raise BadRecordError(f"has {brief(name)} {brief(value)}, which is not a number")
    return found


_READERS: dict[str, Callable[[object], _Line]] = {
    "metrics": _read_metrics,
    "timings": partial(read_record, _Timings.model_validate),
    "warnings": partial(read_record, _Warning.model_validate),
}
read_start = partial(read_record, TypeAdapter(dict[str, Number]).validate_python)
"""Return the content of a start.json without its date, or raise BadRecordError."""


def iteration_lines(path: Path, name: str, mend: str) -> list[JsonObject]:
    """Return the lines of a run's `metrics`, `timings` or `warnings`; the file may be missing.

    A line of another form raises UserError with its number and the advice `mend`.
    """
    return [line for _, line, _ in read_lines(path / f"{name}.jsonl", _READERS[name], mend)]
