"""The figure and the numbers of `docs/results/model-of-collapse.md`, from `collapse_model.py`.

cd examples; python collapse_figure.py --out ../docs/results/model-of-collapse.svg

`--measured FILE` adds measured curves: a JSON object that maps a name to `{metric: values}`. The
metrics are `success`, `reward_deviation`, `entropy` and `grad_norm`, with or without the prefix of
`metrics.jsonl`. Values are those of each iteration, of one run or of a list of runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from collapse_model import (
    METRICS,
    Array,
    Setting,
    critical_rate,
    entropy,
    expected_change,
    expected_update,
    group_deviation,
    simulate,
    solve,
    start,
    success_under_kl,
)

SUCCESS, DEVIATION, ENTROPY, NORM = METRICS
SIGNALS = {DEVIATION: "Reward deviation", ENTROPY: "Entropy", NORM: "Gradient norm"}
WINDOW = 5
"""Iterations of the moving average of measured curves."""
STYLE = """
text { fill: #1f2328; font: 11px sans-serif; }
.title { font-size: 13px; font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: #c9ced6; }
polyline { fill: none; stroke-width: 2; }
polyline.a { stroke: #2563a8; } polyline.b { stroke: #b45309; } polyline.c { stroke: #2f7d4f; }
tspan { font-weight: 600; }
.dots, tspan.m { fill: #8b949e; }
tspan.a, .dots.a { fill: #2563a8; } tspan.b, .dots.b { fill: #b45309; }
tspan.c, .dots.c { fill: #2f7d4f; }
"""
Curve = tuple[str, str, Sequence[float] | Array, Sequence[float] | Array]
"""Legend, CSS class, x and y; a class of `dots` draws points."""


def draw_chart(number: int, title: str, axis: str, curves: Sequence[Curve], log: str = "") -> str:
    """Return one of the charts of the figure as SVG; `log` names the logarithmic axes."""
    left, top = number % 3 * 300 + 56, number // 3 * 210 + 44
    xs = np.concatenate([np.asarray(x, dtype=float) for _, _, x, _ in curves])
    ys = np.concatenate([np.asarray(y, dtype=float) for _, _, _, y in curves])
    (x0, x1), (y0, y1) = (xs.min(), xs.max()), (min(ys.min(), 0 if "y" not in log else 9), ys.max())
    ends = [
        f"{10**v if n in log else v:.3g}" for v, n in zip((x0, x1, y0, y1), "xxyy", strict=True)
    ]
    parts = [f'<text class="title" x="{left}" y="{top - 26}">{title}</text>']
    for y, text in ((top + 130, ends[2]), (top, ends[3])):
        parts.append(f'<line class="grid" x1="{left}" x2="{left + 232}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="end" x="{left - 4}" y="{y + 4}">{text}</text>')
    parts.append(f'<text x="{left}" y="{top + 145}">{ends[0]}</text>')
    parts.append(f'<text class="end" x="{left + 232}" y="{top + 145}">{ends[1]}</text>')
    parts.append(f'<text class="middle" x="{left + 116}" y="{top + 145}">{axis}</text>')
    legend = [
        f'<tspan class="{kind.split()[0]}">{name}</tspan>' for name, kind, *_ in curves if name
    ]
    parts.append(f'<text x="{left}" y="{top - 10}">{"  ".join(legend)}</text>')
    for _, kind, across, up in curves:
        across = left + 232 * (np.asarray(across) - x0) / (x1 - x0)
        up = top + 130 - 130 * (np.asarray(up) - y0) / (y1 - y0)
        places = [f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True)]
        if "dots" in kind:
            circles = (place.split(",") for place in places)
            parts += [f'<circle class="{kind}" cx="{a}" cy="{b}" r="2"/>' for a, b in circles]
        else:
            parts.append(f'<polyline class="{kind}" points="{" ".join(places)}"/>')
    return "\n".join(parts)


def read_measured(path: Path) -> dict[str, dict[str, Array]]:
    """Read measured curves by name and metric, each (runs, iterations)."""
    curves: dict[str, dict[str, Array]] = {}
    try:
        for name, arm in json.loads(path.read_text(encoding="utf-8")).items():
            values = {m: arm[m] if m in arm else arm[m.split("/")[1]] for m in METRICS}
            curves[name] = {m: np.atleast_2d(np.array(v, dtype=float)) for m, v in values.items()}
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        curves = {}
    shapes = [{values.shape for values in arm.values()} for arm in curves.values()]
    if not curves or any(len(sizes) != 1 or min(sizes)[-1] < WINDOW for sizes in shapes):
        raise SystemExit(
            f"{path}: write a JSON object NAME: {{METRIC: values}}, with the same number of "
            f"iterations, at least {WINDOW}, for each of {', '.join(METRICS)}"
        )
    return curves


def average_by_success(arm: Mapping[str, Array]) -> dict[str, Array]:
    """Return moving averages of a run, and of several runs their means at equal success."""
    window = np.full(WINDOW, 1 / WINDOW)
    rows = np.array(
        [np.concatenate([np.convolve(run, window, "valid") for run in arm[m]]) for m in METRICS]
    )
    rows = rows[:, np.isfinite(rows).all(0)]
    if len(arm[SUCCESS]) > 1:
        bins = np.round(rows[0] * 40)
        rows = np.stack([rows[:, bins == place].mean(1) for place in np.unique(bins)], 1)
    return dict(zip(METRICS, rows, strict=True))


def find_falls(setting: Setting) -> dict[str, tuple[float, float]]:
    """Return the success at each signal's peak, and where it has lost 35 % of the peak."""
    grid = np.linspace(0.01, 0.99, 981)
    points = np.array([start(float(rate)) for rate in grid])
    norms = [np.linalg.norm(expected_update(point, setting, point)) for point in points]
    deviations = [group_deviation(float(rate), setting)[0] for rate in grid]
    falls = {}
    for metric, curve in zip(SIGNALS, (deviations, entropy(points), norms), strict=True):
        values = np.array(curve)
        top = int(values.argmax())
        lost = top + int(np.argmax(values[top:] < 0.65 * values[top]))
        falls[metric] = float(grid[top]), float(grid[lost])
    return falls


def draw_figure(measured: Mapping[str, Mapping[str, Array]]) -> str:
    """Return the figure: the signals over success, then filter, KL and step size."""
    base = Setting(groups=64, learning_rate=0.25)
    path, runs = solve(start(0.1), base, 400), simulate(start(0.1), base, 400, runs=16)
    pair = [solve(start(rate), base, 400) for rate in (0.5, 0.01)]
    mixed = {metric: (pair[0][metric] + pair[1][metric]) / 2 for metric in METRICS}
    seen = {name: average_by_success(arm) for name, arm in measured.items()}
    charts, some = [], slice(0, 400, 10)
    for number, (metric, title) in enumerate(SIGNALS.items()):
        top = path[metric].max()
        points = (runs[metric].mean(1) / top)[some]
        curves: list[Curve] = [
            ("one prompt", "a", path[SUCCESS], path[metric] / top),
            ("", "a dots", runs[SUCCESS].mean(1)[some], points),
        ]
        if metric != NORM:
            curves.append(("easy and hard", "b", mixed[SUCCESS], mixed[metric] / top))
        for name, arm in seen.items():
            curves.append((name, "m dots", arm[SUCCESS], arm[metric] / arm[metric].max()))
        charts.append(draw_chart(number, f"{title} / its largest value", "success", curves))
    charts += [_draw_filter(base), _draw_kl(base), _draw_change()]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="420" viewBox="0 0 900 420" '
        'role="img" aria-label="Curves of the model of collapse, with simulated points">\n'
        f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(charts)
        + "\n</svg>\n"
    )


def _draw_filter(base: Setting) -> str:
    curves: list[Curve] = []
    for kind, keep in (("a", 1.0), ("b", 0.25)):
        setting = replace(base, keep=keep, groups=256)
        path, runs = solve(start(0.1), setting, 120), simulate(start(0.1), setting, 120, runs=4)
        fails = [np.log10(1 - path[SUCCESS]), np.log10(1 - runs[SUCCESS].mean(1))[::5]]
        curves.append(
            ("all groups" if keep == 1 else "a quarter", kind, np.arange(121.0), fails[0])
        )
        curves.append(("", f"{kind} dots", np.arange(121.0)[::5], fails[1]))
    return draw_chart(3, "Failure, with the filter", "iterations", curves, "y")


def _draw_kl(base: Setting) -> str:
    curves: list[Curve] = []
    weights = np.geomspace(0.5, 8, 9)
    for kind, is_grpo in (("a", True), ("b", False)):
        arms = [replace(base, groups=16, normalize_std=is_grpo, kl=float(w)) for w in weights]
        ends = [success_under_kl(0.3, arm) for arm in arms]
        runs = [simulate(start(0.3), arm, 200, runs=16)[SUCCESS][-1].mean() for arm in arms[2:]]
        curves.append(("GRPO" if is_grpo else "Dr.GRPO", kind, np.log10(weights), ends))
        curves.append(("", f"{kind} dots", np.log10(weights[2:]), runs))
    return draw_chart(4, "Success at the end, from 0.3", "KL weight", curves, "x")


def _draw_change() -> str:
    noisy = Setting(rollouts=4, groups=1, noise=0.4)
    rates, theta = np.geomspace(0.1, 10, 41), start(0.8)
    clipped = replace(noisy, passes=8, clip=(0.2, 0.2))
    arms = {"one pass": noisy, "8 passes": replace(noisy, passes=8), "clipped": clipped}
    curves: list[Curve] = []
    for kind, (name, arm) in zip("abc", arms.items(), strict=True):
        steps = [replace(arm, learning_rate=float(rate) / arm.passes) for rate in rates]
        exact = [expected_change(theta, step) for step in steps]
        runs = [
            simulate(theta, step, 1, runs=10000)[SUCCESS][1].mean() - 0.8 for step in steps[::5]
        ]
        curves.append((name, kind, np.log10(rates), exact))
        curves.append(("", f"{kind} dots", np.log10(rates)[::5], runs))
    return draw_chart(5, "Change of success in an iteration", "learning rate x passes", curves, "x")


def main(arguments: Sequence[str]) -> None:
    """Write the figure, and print the success at which each signal peaks and falls."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--measured", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    measured = {} if options.measured is None else read_measured(options.measured)
    options.out.write_text(draw_figure(measured), encoding="utf-8")
    for is_grpo in (True, False):
        name = "GRPO" if is_grpo else "Dr.GRPO"
        for metric, (top, lost) in find_falls(Setting(normalize_std=is_grpo)).items():
            sys.stdout.write(f"{name}: {metric} peaks at {top:.2f}, lost 35 % at {lost:.2f}\n")
        rate = critical_rate(start(0.8), Setting(4, 1, noise=0.4, normalize_std=is_grpo))
        sys.stdout.write(f"{name}: critical learning rate {rate:.1f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
