"""What the smoke saw, as a page of Markdown."""

from __future__ import annotations

from typing import Any


def page(found: dict[str, Any]) -> str:
    """Return the page of a smoke's results.

    Args:
        found: as in smoke.json.
    """
    device, software = found["device"], found["software"]
    peak = found["peak"]
    lines = [
        f"# Smoke on {device['name']}",
        "",
        f"`{found['command']}` at commit `{found['commit']}`; "
        + ", ".join(f"{name} {version}" for name, version in software.items())
        + f". {found['parameters']:,} parameters in {found['dtype']}, {found['weights']} weights.",
        "",
        "| iteration | generated, tokens/s | trained, tokens/s | share of a plain matmul | "
        "model FLOP utilisation | log-probs apart | loss |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            _row(number, one, found["matmul"], peak)
            for number, one in enumerate(found["iterations"])
        ),
        "",
        "Generated: sampled tokens a second of the rollouts. Trained: tokens of whole trajectories "
        "a second of the update, which the model reads all. Log-probs apart: the largest "
        "difference of a sampled token's log-probability between who plays and who trains.",
        "",
        f"A plain product of matrices in float32 ran at {found['matmul'] / 1e12:.2f} TFLOP/s. "
        f"The largest change of a weight is {found['moved']:.2e}.",
    ]
    if peak is not None:
        lines.append(f"The vendor's peak in float32 is {peak / 1e12:.1f} TFLOP/s.")
    if found["memory"] is not None:
        lines.append(f"At most {found['memory'] / 2**30:.1f} GiB of GPU memory were taken.")
    return "\n".join(lines) + "\n"


def _row(number: int, one: dict[str, Any], matmul: float, peak: float | None) -> str:
    rate = one["training_flops"] / one["update"]
    cells = (
        f"{number}",
        f"{one['generated'] / one['rollouts']:,.0f}",
        f"{one['positions'] / one['update']:,.0f}",
        f"{100 * rate / matmul:.1f} %",
        f"{100 * rate / peak:.1f} %" if peak is not None else "-",
        f"{one['log_probs_apart']:.1e}",
        f"{one['loss']:.4f}",
    )
    return f"| {' | '.join(cells)} |"
