"""The published findings: a page, one picture for each paper and study, JSON, and curves."""

from __future__ import annotations

import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragen_bench.escaping import escape_html
from ragen_bench.json_types import JsonObject
from ragen_bench.markdown import Markdown, bold, code, escape_markdown, link, make_table
from ragen_bench.pages.formats import NONE
from ragen_bench.runs.atomic import replacing, write_text
from ragen_starpo.studies.definition import METRICS, OWN, Claim, Study, list_studies
from ragen_starpo.studies.metrics import Runs, find_rise, moving_means
from ragen_starpo.studies.verdicts import LEVEL, Verdict

_WIDTH, _ROW, _TEXT = 900, 20, 560
_CHART, _HEIGHT, _ACROSS, _POINTS = 210, 120, 4, 30
_COLOURS = {"higher": "#1a7f37", "lower": "#cf222e", "the same": "#0969da"}
_RULES = "https://ragen-bench.github.io/ragen-bench/studies/"
_LIMIT = 6.0
"""Bound of the forest plots' axis, in multiples of a claim's δ."""


class Finding(NamedTuple):
    """A study with its verdicts, in the order of its claims, and its arms' runs by name."""

    study: Study
    verdicts: Sequence[Verdict]
    runs: Mapping[str, Runs]


def write_pages(folder: Path, findings: Sequence[Finding]) -> None:
    """Write `findings.md`, `findings.json` and the folder `findings` with pictures and curves."""
    results = make_results(findings)
    pictures = folder / "findings"
    pictures.mkdir(parents=True, exist_ok=True)
    write_text(folder / "findings.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "findings.md", render_page(results))
    for paper, claims in _by_paper(results).items():
        write_text(pictures / f"{_slug(paper)}.svg", render_forest(claims))
    for finding in findings:
        write_text(pictures / f"study-{finding.study.name}.svg", render_curves(finding))
    with replacing(pictures / "curves.npz") as content:
        content.write(pack_curves(findings))


def make_results(findings: Sequence[Finding]) -> JsonObject:
    """Return the content of `findings.json`."""
    return {"level": LEVEL, "studies": [_make_study(finding) for finding in findings]}


def _make_study(finding: Finding) -> JsonObject:
    study = finding.study
    arms = [
        {
            "name": arm,
            "hash": study.hash_of(arm),
            "task": asdict(study.task_of(arm)),
            "settings": list(study.settings_of(arm)),
            "iterations": study.iterations_of(arm),
            "runs": len(runs.test),
            "rise": round(find_rise(runs), 2),
            "seconds": round(runs.seconds),
            "gpu_seconds": round(runs.gpu_seconds),
        }
        for arm, runs in finding.runs.items()
    ]
    pairs = zip(study.claims, finding.verdicts, strict=True)
    return {
        "name": study.name,
        "question": study.question,
        "reference": study.reference,
        "warm_starts": study.warm_starts,
        "arms": arms,
        "claims": [_make_claim(study, claim, verdict) for claim, verdict in pairs],
    }


def _make_claim(study: Study, claim: Claim, verdict: Verdict) -> JsonObject:
    # What a gate closed has a difference that nothing corrects for the other claims.
    estimate = None if verdict.word == "not testable here" else verdict.estimate
    decided = verdict.word in _COLOURS
    interval = estimate.interval(verdict.level) if estimate else ()
    return {
        **asdict(claim),
        "study": study.name,
        "game": study.task_of(claim.plus[0]).title,
        "verdict": verdict.word,
        "as_claimed": verdict.word == claim.says if decided else None,
        "why": verdict.why,
        "mean": _round(estimate.mean if estimate else None),
        "interval": [_round(end) for end in interval],
        "interval_level": round(verdict.level, 6),
        "runs": study.warm_starts * verdict.seeds,
        "levels": {arm: _round(level) for arm, level in verdict.levels.items()},
        "knob_value": _round(verdict.knob, 4),
    }


def render_page(results: JsonObject) -> str:
    """Return the page of all findings in Markdown."""
    studies = results["studies"]
    claims = [claim for study in studies for claim in study["claims"]]
    counts = Counter(claim["verdict"] for claim in claims)
    agreed = sum(claim["as_claimed"] is True for claim in claims)
    arms = {arm["hash"]: arm for study in studies for arm in study["arms"]}
    cores, gpus = (
        sum(arm[name] for arm in arms.values()) / 3600 for name in ("seconds", "gpu_seconds")
    )
    on_gpus = f" and {gpus:.1f} GPU-hours" if gpus else ""
    names = [study["name"] for study in studies]
    left = [code(name) for name in list_studies() if name not in names]
    parts = [
        "# The papers' findings on small agents",
        f"Claims: {len(claims)}. Decided: {sum(counts[word] for word in _COLOURS)}, as the paper "
        f"says: {agreed}. Undecided: {counts['undecided']}. "
        f"Not testable here: {counts['not testable here']}. Agents of 0.1 million parameters "
        f"learned in {cores:.1f} core-hours{on_gpus}; number of arms: {len(arms)}. "
        f"{link('Rules and metrics', _RULES)} were fixed before the runs.",
        f"```\n$ ragen-train study {' '.join(names)} --out store --pages docs/results\n```",
        "Intervals are joint at 95 % over a study's claims and looks; *the same* is within ±δ. "
        "In the pictures a difference is divided by its δ. "
        "[All numbers](findings.json) and [curves](findings/curves.npz) are beside this page.",
    ]
    if left:
        parts.append(f"Studies of the catalogue that were not run yet: {', '.join(left)}.")
    papers = _by_paper(results)
    parts.append(_make_summary(papers))
    columns = ["claim", "game", "figure", "theirs", "ours", "levels", "verdict", "runs", "curves"]
    for paper, of_paper in papers.items():
        rows = [_claim_row(claim) for claim in of_paper]
        picture = f"![Differences by claim](findings/{_slug(paper)}.svg)"
        parts += [f"## {escape_markdown(paper)}", picture, make_table(columns, rows)]
    parts += [
        "## Studies",
        make_table(
            ["study", "question", "arms", "core-seconds", "command"],
            [
                [
                    link(study["name"], f"findings/study-{study['name']}.svg"),
                    study["question"],
                    str(len(study["arms"])),
                    _make_cost(study["arms"]),
                    code(f"ragen-train study {study['name']} --out store"),
                ]
                for study in studies
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _make_summary(papers: Mapping[str, Sequence[JsonObject]]) -> str:
    """Return a table of the numbers of verdicts on each paper's claims."""
    rows = []
    for paper, claims in papers.items():
        anchor = re.sub(r"[^\w -]", "", paper.lower()).replace(" ", "-")
        words = Counter(claim["verdict"] for claim in claims)
        decided = Counter(claim["as_claimed"] for claim in claims)
        counts = [len(claims), decided[True], decided[False], words["undecided"]]
        counts.append(words["not testable here"])
        rows.append([link(paper, f"#{anchor}"), *map(str, counts)])
    head = ["paper", "claims", "as claimed", "not as claimed", "undecided", "not testable here"]
    return make_table(head, rows)


def _make_cost(arms: Sequence[JsonObject]) -> str:
    cores, gpu = (sum(arm[name] for arm in arms) for name in ("seconds", "gpu_seconds"))
    return f"{cores:,}" + (f", and {gpu:,} of a GPU" if gpu else "")


def _claim_row(claim: JsonObject) -> list[str]:
    unit = {"points": "", "iterations": " it.", "percent": " %"}[METRICS[claim["metric"]].unit]
    ours = NONE
    if claim["mean"] is not None:
        low, high = claim["interval"]
        ours = f"{_sign(claim['mean'])}{unit} [{_sign(low)}, {_sign(high)}], δ {claim['same']:g}"
    levels = "; ".join(
        f"{arm} {NONE if level is None else f'{level:.1f}'}"
        for arm, level in claim["levels"].items()
    )
    agrees = {True: ", as claimed", False: ", not as claimed", None: ""}[claim["as_claimed"]]
    why = escape_markdown(f": {claim['why']}" if claim["why"] else "")
    verdict = Markdown(f"{bold(claim['verdict'])}{agrees}{why}")
    picture = link(claim["study"], f"findings/study-{claim['study']}.svg")
    text = f"{claim['text']} ({claim['metric']})"
    theirs = [claim["figure"] or NONE, claim["number"] or NONE]
    return [text, claim["game"], *theirs, ours, levels, verdict, str(claim["runs"]), picture]


def render_forest(claims: Sequence[JsonObject]) -> str:
    """Return the forest plot of claims: differences in multiples of δ, with their intervals."""
    height = _ROW * (len(claims) + 2)
    left, span = _TEXT, _WIDTH - _TEXT - 10

    def place(value: float) -> float:
        return round(left + span * (max(-_LIMIT, min(_LIMIT, value)) + _LIMIT) / (2 * _LIMIT), 1)

    lines = [
        f'<path d="M{place(x)} 0V{height - _ROW}" stroke="#8886" {dash}/>'
        f'<text x="{place(x)}" y="{height - 6}" text-anchor="middle">{label}</text>'
        for x, label, dash in (
            (-1, "\N{MINUS SIGN}δ", 'stroke-dasharray="3"'),
            (0, "0", ""),
            (1, "δ", 'stroke-dasharray="3"'),
        )
    ]
    for row, claim in enumerate(claims):
        y = _ROW * row + 14
        whole = f"{claim['game']}: {claim['text']}"
        text = whole if len(whole) < 88 else whole[:86] + "…"
        lines.append(
            f'<text x="0" y="{y}">{escape_html(text)}<title>{escape_html(whole)}</title></text>'
        )
        if claim["mean"] is None:
            lines.append(
                f'<text x="{place(0)}" y="{y}" text-anchor="middle">{claim["verdict"]}</text>'
            )
            continue
        colour = _COLOURS.get(claim["verdict"], "#888")
        low, mean, high = (
            place(x / claim["same"])
            for x in (claim["interval"][0], claim["mean"], claim["interval"][1])
        )
        lines.append(
            f'<path d="M{low} {y - 4}H{high}" stroke="{colour}" stroke-width="2"/>'
            f'<circle cx="{mean}" cy="{y - 4}" r="4" fill="{colour}"/>'
        )
    return make_svg(_WIDTH, height, lines)


def render_curves(finding: Finding) -> str:
    """Return the moving means of success of each run, a chart for each arm."""
    lines = []
    for number, (arm, runs) in enumerate(finding.runs.items()):
        means = moving_means(runs.curves["success"])
        x = number % _ACROSS * (_CHART + 15)
        y = number // _ACROSS * (_HEIGHT + 40)
        picked = np.unique(np.linspace(0, means.shape[1] - 1, _POINTS).astype(int))
        xs = np.round(np.linspace(0, _CHART, len(picked))).astype(int)
        bold = _path(xs, means.mean(axis=0)[picked])
        thin = "".join(_path(xs, run[picked]) for run in means)
        lines.append(
            f'<g transform="translate({x},{y + 20})"><text y="-6">{escape_html(arm)}</text>'
            f'<path d="M0 0V{_HEIGHT}H{_CHART}" stroke="#888"/>'
            f'<path d="{thin}" stroke="#0969da44"/>'
            f'<path d="{bold}" stroke="#cf222e" stroke-width="2"/>'
            f'<text x="{_CHART}" y="{_HEIGHT + 12}" text-anchor="end">'
            f"{runs.curves['success'].shape[1]} iterations, 0 to 100 %</text></g>"
        )
    return make_svg(
        _ACROSS * (_CHART + 15), -(-len(finding.runs) // _ACROSS) * (_HEIGHT + 40), lines
    )


def pack_curves(findings: Sequence[Finding]) -> bytes:
    """Return an npz file: by arm's hash, success of each run in half per cent, and mean curves."""
    arrays: dict[str, np.ndarray] = {}
    for finding in findings:
        for arm, runs in finding.runs.items():
            key = finding.study.hash_of(arm)
            arrays[f"{key}/success"] = np.round(200 * runs.curves["success"]).astype(np.uint8)
            for name, values in runs.curves.items():
                if name != "success":
                    known = ~np.isnan(values)
                    total = np.where(known, values, 0).sum(axis=0, dtype=np.float64)
                    mean = total / np.maximum(known.sum(axis=0), 1)
                    mean[~known.any(axis=0)] = math.nan
                    arrays[f"{key}/{name}"] = mean.astype(np.float32)
    content = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed
    save(content, **arrays)
    return content.getvalue()


def _path(xs: np.ndarray, values: np.ndarray) -> str:
    """Return an SVG path through values from 0 to 100, in relative steps."""
    ys = np.round(_HEIGHT * (1 - values / 100)).astype(int)
    steps = " ".join(f"{a},{b}" for a, b in zip(np.diff(xs), np.diff(ys), strict=True))
    return f"M{xs[0]} {ys[0]}l{steps}"


def make_svg(width: int, height: int, lines: Sequence[str]) -> str:
    """Return a picture of some elements, whose text and axes fit light and dark pages."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {max(height, 1)}"'
    style = "text{font:11px sans-serif;fill:#888;stroke:none}path{fill:none}"
    return f"{head}><style>{style}</style>{''.join(lines)}</svg>\n"


def _by_paper(results: JsonObject) -> dict[str, list[JsonObject]]:
    """Return the claims of each paper; RAGEN's papers come first, and this suite's claims last."""
    papers: dict[str, list[JsonObject]] = {}
    for study in results["studies"]:
        for claim in study["claims"]:
            papers.setdefault(claim["paper"], []).append(claim)
    order = sorted(papers, key=lambda name: (name == OWN, "RAGEN" not in name, name.lower()))
    return {name: papers[name] for name in order}


def _slug(paper: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in paper.partition(",")[0].lower())


def _sign(value: float) -> str:
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def _round(value: float | None, digits: int = 3) -> float | None:
    return None if value is None or math.isnan(value) else round(value, digits)
