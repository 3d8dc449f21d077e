"""The page that compares runs with the first of them: one self-contained HTML file."""

from __future__ import annotations

from ragen_bench.json_types import JsonObject
from ragen_bench.pages.formats import short
from ragen_bench.pages.rendering import page_environment
from ragen_bench.scores.compare import MEAN, collect_notes, describe_close, group_by_environment


def render_comparison(compared: JsonObject, home: str | None = None) -> str:
    """Render the result of `compare_with_first`; `home` is the URL of the list of runs."""
    environment = page_environment("ragen_bench.pages.comparison", format_signed)
    template = environment.get_template("page.html")
    return template.render(
        runs=compared["runs"],
        of=compared["comparisons"][0],
        groups=[
            ("mean" if env == MEAN else short(env), rows)
            for env, rows in group_by_environment(compared).items()
        ],
        notes=collect_notes(compared),
        close=describe_close(compared),
        home=home,
    )


def format_signed(value: float, scale: int = 1, digits: int = 2) -> str:
    """Return a difference with its sign."""
    digits = 1 if scale == 100 else digits
    # Adding 0 turns -0.0 into 0.0.
    rounded = round(scale * value, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
