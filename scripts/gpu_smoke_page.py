"""Results of the smoke test, as JSON and as a Markdown page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import write_text
from ragen_envs.core.sums import sum_in_order

BEGIN, END = "<!-- figures of gpu_smoke.py -->", "<!-- end of the figures -->"
_ITERATIONS = (
    *("iteration", "generated, tokens/s", "trained, tokens/s", "share of a plain product"),
    *("model FLOP utilisation", "engine gap, mean", "engine gap, max", "memory of the update"),
)


class Record:
    """The metrics in a folder, and the page that shows them.

    Args:
        out: The folder, created if needed. Metrics in its `gpu.json` are continued.
        page: Page whose metrics, between two comments, are updated too; None for no page.

    Raises:
        UserError: If the page lacks these comments.

    Attributes:
        found: The metrics, by name.
    """

    def __init__(self, out: Path, page: Path | None) -> None:
        self._out, self._page = out, page
        if page is not None:
            _replaced(page, "")
        out.mkdir(parents=True, exist_ok=True)
        self.found: dict[str, Any] = {}
        self.read()

    def read(self) -> None:
        """Read the metrics that another process has written."""
        file = self._out / "gpu.json"
        if file.exists():
            self.found = json.loads(file.read_text(encoding="utf-8"))

    def write(self) -> None:
        """Write all files, each atomically."""
        write_text(self._out / "gpu.json", json.dumps(self.found, indent=1) + "\n")
        text = section(self.found)
        write_text(self._out / "gpu.md", text)
        if self._page is not None:
            write_text(self._page, _replaced(self._page, text))

    def stage(self, name: str) -> dict[str, Any]:
        """Return the metrics of a stage, to be added to."""
        figures: dict[str, Any] = self.found["stages"].setdefault(name, {})
        return figures


def section(found: dict[str, Any]) -> str:
    """Return the Markdown section of the metrics.

    Args:
        found: The content of gpu.json.
    """
    stages = found["stages"]
    device = stages.get("device", {})
    name = device.get("device", {}).get("name", "an unknown device")
    lines = [
        f"## {name[:1].upper()}{name[1:]}",
        "",
        f"`{found['command']}` at commit `{found['commit']}`.",
    ]
    for stage, figures in stages.items():
        lines += ["", *_of_stage(stage, figures, device)]
    return "\n".join(lines) + "\n"


def _of_stage(stage: str, figures: dict[str, Any], device: dict[str, Any]) -> Iterator[str]:
    shown: dict[str, Callable[[], Iterator[str]]] = {
        "device": lambda: _device(figures),
        "float32": lambda: _iterations("float32", figures, device),
        "bfloat16": lambda: _iterations("bfloat16", figures, device),
        "training": lambda: _training(figures),
    }
    yield f"### {stage.capitalize()}"
    yield ""
    if len(figures.keys() - {"failed", "seconds"}):
        yield from shown[stage]()
    # The parent process adds the seconds.
    after = f" after {figures['seconds']:.0f} s" if "seconds" in figures else ""
    if "failed" in figures:
        yield f"The stage did not end well{after}: `{figures['failed']}`"
    elif figures.get("cut"):
        yield f"The time of this stage was up{after}."


def _device(figures: dict[str, Any]) -> Iterator[str]:
    software = ", ".join(f"{name} {version}" for name, version in figures["software"].items())
    yield f"{software}."
    peak = figures["peak"]
    for dtype, speed in figures.get("matmul", {}).items():
        vendors = f", of the vendor's {peak[dtype] / 1e12:.0f}" if peak else ""
        yield f"A plain product of matrices in {dtype} ran at {speed / 1e12:.2f} TFLOP/s{vendors}."


def _iterations(dtype: str, figures: dict[str, Any], device: dict[str, Any]) -> Iterator[str]:
    yield f"{figures['parameters']:,} parameters, random weights, arithmetic in {dtype}."
    yield ""
    yield from _table(
        _ITERATIONS,
        [
            [
                f"{number}",
                f"{one['generated'] / one['rollouts']:,.0f}",
                f"{one['positions'] / one['update']:,.0f}",
                _share(one, device.get("matmul"), dtype),
                _share(one, device.get("peak"), dtype),
                f"{one['gap_mean']:.1e}",
                f"{one['gap_max']:.1e}",
                _gib(one["memory"]),
            ]
            for number, one in enumerate(figures["iterations"])
        ],
    )
    yield (
        "Generated: sampled tokens a second of the rollouts. Trained: tokens of whole trajectories "
        "a second of the update, which the model reads all. Engine gap: the difference of a "
        "sampled token's log-probability between who plays and who trains."
    )
    if "ways" in figures:
        yield ""
        yield "An update of the last iteration's trajectories, the second one of its process:"
        yield ""
        yield from _table(
            ("micro-batches of", "trained, tokens/s", "memory", "norm of the gradient"),
            [
                [
                    name,
                    f"{way['positions'] / way['seconds']:,.0f}",
                    _gib(way["memory"]),
                    f"{way['grad_norm']:.5g}",
                ]
                for name, way in figures["ways"].items()
            ],
        )


def _training(figures: dict[str, Any]) -> Iterator[str]:
    parameters = figures.get("parameters")
    made = f"A model of {parameters:,} parameters that is made there" if parameters else "The model"
    yield f"{made} learns Sokoban from the oracle, then by reinforcement learning."
    yield ""
    yield from _table(
        ("epoch of the warm start", "loss", "held-out success", "seconds"),
        [
            [
                f"{one['number']}",
                f"{one['loss']:.3f}",
                _success(one["success"]),
                f"{one['seconds']:.0f}",
            ]
            for one in figures["epochs"]
            if one["success"] is not None
        ],
    )
    if figures.get("warm_start_cut"):
        measured = any(one["success"] is not None for one in figures["epochs"])
        which = "the best model so far" if measured else "the start model"
        yield f"The time of the warm start was up; reinforcement learning began with {which}."
        yield ""
    if not figures["iterations"]:
        return
    rates = [
        sum_in_order(one[tokens] for one in figures["iterations"])
        / max(sum_in_order(one[seconds] for one in figures["iterations"]), 1e-9)
        for tokens, seconds in (("generated", "rollouts"), ("trained", "updates"))
    ]
    yield (
        f"{len(figures['iterations'])} iterations followed, with {rates[0]:,.0f} sampled tokens a "
        f"second of rollouts and {rates[1]:,.0f} a second of updates."
    )
    yield ""
    measured = [
        [f"{number + 1}", _success(one["success"]), _success(one["held_out"])]
        for number, one in enumerate(figures["iterations"])
        if one["held_out"] is not None
    ]
    yield from _table(
        ("iterations", "success of rollouts", "held-out success"),
        [["0", "-", _success(figures["start"])], *measured],
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield "|" + " ---: |" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _share(one: dict[str, Any], speeds: dict[str, float] | None, dtype: str) -> str:
    if not speeds or dtype not in speeds:
        return "-"
    return f"{100 * one['training_flops'] / one['update'] / speeds[dtype]:.1f} %"


def _success(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _gib(taken: int | None) -> str:
    return "-" if taken is None else f"{taken / 2**30:.1f} GiB"


def _replaced(page: Path, text: str) -> str:
    """Return a page with other figures.

    Raises:
        UserError: if it has no place for them.
    """
    whole = page.read_text(encoding="utf-8") if page.is_file() else ""
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise UserError(f"{page} has no place for figures: give it the lines {BEGIN} and {END}")
    return f"{before}{begin}\n{text}{end}{after}"
