"""The curves of a study: which figures are drawn, their axes, and a picture of them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragen_bench.pages.rendering import page_environment
from ragen_starpo.report.html import exact
from ragen_starpo.studies.results import CURVES

_WIDTH, _HEIGHT, _HEAD, _TITLE, _ACROSS = 300, 146, 16, 30, 3
"""Of a chart in the picture, its name above it, and a figure's title; charts beside each other."""


def drawn(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of which an arm has a curve, with their titles."""
    return {name: title for name, title in CURVES.items() if _with_curve(results, name)}


def axes(results: Mapping[str, Any], name: str) -> Sequence[float]:
    """Return lowest and highest value, first and last iteration of all arms together."""
    points = [point for arm in results["arms"] for point in arm["curves"][name]]
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    numbers = [point[0] for point in points]
    return [min(low, 0.0), high if high > low else low + 1.0, min(numbers), max(numbers)]


def picture(results: Mapping[str, Any]) -> str:
    """Return the curves of all arms as one SVG picture, for pages that cannot hold them.

    Args:
        results: the content of `study.json`.
    """
    sheets, top = [], 0
    for name, title in drawn(results).items():
        charts = [
            {"arm": arm["name"], "points": arm["curves"][name], **_place(number, top + _TITLE)}
            for number, arm in enumerate(_with_curve(results, name))
        ]
        bounds = axes(results, name)
        sheets.append({"title": title, "top": top, "charts": charts, "axes": bounds})
        top += _TITLE + -(-len(charts) // _ACROSS) * (_HEIGHT + _HEAD)
    template = page_environment("ragen_starpo.studies", exact).get_template("curves.svg")
    return template.render(
        study=results["study"], sheets=sheets, width=_ACROSS * _WIDTH, height=max(top, 1)
    )


def _with_curve(results: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [arm for arm in results["arms"] if len(arm["curves"][name]) > 1]


def _place(number: int, top: int) -> dict[str, Any]:
    """Return where a chart stands in the rows that begin at a height, and its attributes there."""
    x, y = number % _ACROSS * _WIDTH, top + number // _ACROSS * (_HEIGHT + _HEAD)
    return {
        "x": x,
        "y": y,
        "place": f'x="{x}" y="{y + _HEAD}" width="{_WIDTH}" height="{_HEIGHT}"',
    }
