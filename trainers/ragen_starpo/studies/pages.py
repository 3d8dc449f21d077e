"""A study's pages, one in HTML and one in Markdown with a picture, from its results alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragen_bench.pages.rendering import page_environment
from ragen_starpo.report.html import exact
from ragen_starpo.studies.curves import axes, drawn, picture
from ragen_starpo.studies.study import studies
from ragen_starpo.studies.tables import (
    NOTES,
    VERDICT_COLUMNS,
    arm_columns,
    arm_rows,
    markdown,
    notes_on_arms,
    plain,
    run_columns,
    run_rows,
    verdict_rows,
)


def pages(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the content of a study's pages, by the names of their files.

    Args:
        results: the content of `study.json`.
    """
    return {
        "study.html": html_page(results),
        "study.md": markdown_page(results),
        "study.svg": picture(results),
    }


def html_page(results: Mapping[str, Any]) -> str:
    """Return the page of a study as one self-contained HTML file.

    Args:
        results: the content of `study.json`.
    """
    template = page_environment("ragen_starpo.studies", exact).get_template("page.html")
    return template.render(
        **results,
        finished=_finished(results),
        seeds_note=seeds_note(results),
        notes={**NOTES, "arms": notes_on_arms(results)},
        verdict_columns=VERDICT_COLUMNS,
        verdict_rows=verdict_rows(results),
        arm_columns=arm_columns(results),
        arm_rows=arm_rows(results),
        run_columns=run_columns(results),
        run_rows=run_rows(results),
        drawn=drawn(results),
        axes={name: axes(results, name) for name in drawn(results)},
    )


def markdown_page(results: Mapping[str, Any]) -> str:
    """Return the page of a study in Markdown.

    Args:
        results: the content of `study.json`.
    """
    study = results["study"]
    lead = f"Study `{study['name']}`, {state_of(results)}."
    parts = [
        f"# {plain(study['question'])}",
        " ".join([lead, *filter(None, [seeds_note(results)])]),
        f"```\n$ {_command(results)}\n```",
        *_verdicts(results),
        "## Arms",
        notes_on_arms(results),
        markdown(arm_columns(results), arm_rows(results)),
        *(["## Curves", NOTES["curves"], "![Curves](study.svg)"] if drawn(results) else []),
        "## Runs",
        NOTES["runs"],
        markdown(run_columns(results), run_rows(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _verdicts(results: Mapping[str, Any]) -> list[str]:
    """Return the section of verdicts; nothing of a pilot, which has no claims."""
    if not results["claims"]:
        return []
    return ["## Verdicts", NOTES["verdicts"], markdown(VERDICT_COLUMNS, verdict_rows(results))]


def state_of(results: Mapping[str, Any]) -> str:
    """Return a study's scale and seeds, and how many of its runs are finished."""
    return (
        f"scale `{results['scale']}`, {results['seeds']} seeds an arm; "
        f"{_finished(results)} of {len(results['runs'])} runs are finished"
    )


def seeds_note(results: Mapping[str, Any]) -> str:
    """Return what is to be known of the seeds; nothing where they are the file's, and all here."""
    seeds, planned = results["seeds"], results["study"]["seeds"]
    notes = []
    if seeds < planned:
        notes.append(f"The study asks for {planned} seeds, so its verdicts are not final.")
    if seeds > planned:
        notes.append(f"The study asks for {planned} seeds; the others were added to them.")
    if earlier := results.get("earlier"):
        notes.append(
            f"{earlier['runs']} runs were played before, and taken from the study.json whose "
            f"SHA-256 is `{earlier['sha256']}`."
        )
    return " ".join(notes)


def _command(results: Mapping[str, Any]) -> str:
    name = results["study"]["name"]
    place = name if name in studies() else f"{name}.toml"
    return (
        f"ragen-train study {place} --scale {results['scale']} --seeds {results['seeds']} "
        f"--out {name}"
    )


def _finished(results: Mapping[str, Any]) -> int:
    return sum(not run["problem"] for run in results["runs"])
