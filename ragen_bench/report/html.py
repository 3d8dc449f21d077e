"""Fills the report's template with a run's figures and trajectories."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from ragen_bench.records import Record, RunDirectory
from ragen_envs.protocol import thought_of

SHOWN_EPISODES = 60
"""Trajectories in the file, of each environment; all of them are in episodes.jsonl."""


def write_report(run: RunDirectory, summary: Record) -> Path:
    """Write report.html into the run directory and return its path."""
    environment = Environment(
        loader=PackageLoader("ragen_bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda rate: f"{100 * rate:.1f}"
    environment.filters["thought"] = thought_of
    text = environment.get_template("report.html").render(
        config=run.config, summary=summary, episodes=_shown(run, summary), shown=SHOWN_EPISODES
    )
    path = run.path / "report.html"
    # Answers may hold lone surrogates, which no encoding of a page has.
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    return path


def _shown(run: RunDirectory, summary: Record) -> dict[str, list[Record]]:
    return {
        row["env"]: list(
            islice((e for e in run.episodes() if e["env"] == row["env"]), SHOWN_EPISODES)
        )
        for row in summary["envs"]
    }
