"""The pictures of the findings: forest plots of claims, and curves of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ragen_bench.escaping import escape_html
from ragen_bench.json_types import JsonObject
from ragen_starpo.studies.definition import WINDOW
from ragen_starpo.studies.metrics import Runs, moving_means

_WIDTH, _ROW, _TOP, _LETTERS = 520, 32, 44, 96
_CHART, _HEIGHT, _ACROSS, _POINTS = 220, 120, 2, 30
_MINUS = "\N{MINUS SIGN}"
_LIMIT = 6.0
"""Bound of the forest plots' axis, in multiples of a claim's δ."""
_OUTCOMES: dict[bool | None, tuple[str, str, str]] = {
    True: ("as claimed", "#0b66d0", '<circle r="4.5" fill="#0b66d0"/>'),
    False: ("not as claimed", "#cf6008", '<path d="M-4-4h8v8h-8z" style="fill:#cf6008"/>'),
    None: ("undecided", "#949494", '<circle r="4" fill="none" stroke="#949494" stroke-width="2"/>'),
}
"""Label, colour and marker by whether a claim holds; they differ in lightness and in shape."""


def render_forest(claims: Sequence[JsonObject]) -> str:
    """Return the forest plot of claims: differences in multiples of δ, with their intervals."""
    end = _TOP + _ROW * len(claims)
    lines = [
        f'<g transform="translate({8 + 130 * number},8)">{marker}'
        f'<text x="9" y="4">{label}</text></g>'
        for number, (label, _, marker) in enumerate(_OUTCOMES.values())
    ]
    lines.append(
        f'<text x="4" y="30">band: within ±δ; ◀ ▶: goes on beyond {_LIMIT:g}δ</text>'
        f'<text x="0" y="{end + 14}">{_MINUS}{_LIMIT:g}δ, lower</text>'
        f'<text x="{_WIDTH}" y="{end + 14}" text-anchor="end">{_LIMIT:g}δ, higher</text>'
    )
    for x, label in ((-1, f"{_MINUS}δ"), (0, "0"), (1, "δ")):
        lines.append(f'<text x="{_place(x)}" y="{end + 14}" text-anchor="middle">{label}</text>')
    texts = Counter((claim["game"], claim["text"]) for claim in claims)
    for row, claim in enumerate(claims):
        # Studies that differ in their settings alone have equal claims.
        is_single = texts[claim["game"], claim["text"]] == 1
        study = "" if is_single else f", {claim['study']}"
        whole = f"{claim['game']}{study}: {claim['text']}"
        text = whole if len(whole) <= _LETTERS else whole[: _LETTERS - 1] + "…"
        lines.append(
            f'<g transform="translate(0,{_TOP + _ROW * row})">'
            f'<text y="10">{escape_html(text)}<title>{escape_html(whole)}</title></text>'
            f'<g transform="translate(0,21)">{_draw_difference(claim)}</g></g>'
        )
    return make_svg(_WIDTH, end + 20, lines)


def _draw_difference(claim: JsonObject) -> str:
    if claim["mean"] is None:
        return f'<text x="{_place(0)}" y="4" text-anchor="middle">{claim["verdict"]}</text>'
    _, colour, marker = _OUTCOMES[claim["as_claimed"]]
    low, mean, high = (
        value / claim["same"]
        for value in (claim["interval"][0], claim["mean"], claim["interval"][1])
    )
    band = f'<path d="M{_place(-1)} -6H{_place(1)}v12H{_place(-1)}z" style="fill:#8883"/>'
    zero = f'<path d="M{_place(0)} -6v12" stroke="#888"/>'
    whole = f'<path d="M{_place(low)} 0H{_place(high)}" stroke="{colour}" stroke-width="2"/>'
    parts = [band, zero, whole]
    if abs(mean) <= _LIMIT:
        parts.append(f'<g transform="translate({_place(mean)},0)">{marker}</g>')
    if low < -_LIMIT:
        parts.append(f'<path d="M0 0l9-5v10z" style="fill:{colour}"/>')
    if high > _LIMIT:
        parts.append(f'<path d="M{_WIDTH} 0l-9-5v10z" style="fill:{colour}"/>')
    return "".join(parts)


def _place(value: float) -> float:
    """Return the x of a multiple of δ; one beyond the limit is at the edge."""
    return round(_WIDTH / 2 + (_WIDTH / 2 - 8) * max(-1, min(1, value / _LIMIT)), 1)


def render_curves(arms: Mapping[str, Runs]) -> str:
    """Return the moving means of success of each run, a chart for each arm."""
    lines = []
    for number, (arm, runs) in enumerate(arms.items()):
        means = moving_means(runs.curves["success"])
        x = number % _ACROSS * (_CHART + 40) + 28
        y = number // _ACROSS * (_HEIGHT + 48) + 20
        picked = np.unique(np.linspace(0, means.shape[1] - 1, _POINTS).astype(int))
        xs = np.round(np.linspace(0, _CHART, len(picked))).astype(int)
        bold = _path(xs, means.mean(axis=0)[picked])
        thin = "".join(_path(xs, run[picked]) for run in means)
        ticks = "".join(
            f'<text x="-5" y="{_HEIGHT * (100 - tick) // 100 + 4}" text-anchor="end">{tick}</text>'
            for tick in (0, 50, 100)
        )
        lines.append(
            f'<g transform="translate({x},{y})"><text y="-6">{escape_html(arm)}</text>{ticks}'
            f'<path d="M0 0V{_HEIGHT}H{_CHART}" stroke="#888"/>'
            f'<path d="M{_CHART} {_HEIGHT // 2}H0" stroke="#8886"/>'
            f'<path d="{thin}" stroke="#388bfd66"/>'
            f'<path d="{bold}" stroke="#cf222e" stroke-width="2"/>'
            f'<text x="{_CHART}" y="{_HEIGHT + 14}" text-anchor="end">'
            f"success in %, iterations {WINDOW} to {runs.curves['success'].shape[1]}</text></g>"
        )
    return make_svg(_ACROSS * (_CHART + 40), -(-len(arms) // _ACROSS) * (_HEIGHT + 48), lines)


def _path(xs: np.ndarray, values: np.ndarray) -> str:
    """Return an SVG path of values from 0 to 100, in relative steps; a dash for a single one."""
    ys = np.round(_HEIGHT * (1 - values / 100)).astype(int)
    steps = " ".join(f"{a},{b}" for a, b in zip(np.diff(xs), np.diff(ys), strict=True))
    return f"M{xs[0]} {ys[0]}" + (f"l{steps}" if steps else "h6")


def make_svg(width: int, height: int, lines: Sequence[str]) -> str:
    """Return a picture of some elements, whose text and axes fit light and dark pages."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'viewBox="0 0 {width} {max(height, 1)}"'
    )
    style = "text{font:12px sans-serif;fill:#888;stroke:none}path{fill:none}"
    return f"{head}><style>{style}</style>{''.join(lines)}</svg>\n"
