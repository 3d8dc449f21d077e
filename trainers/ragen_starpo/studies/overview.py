"""The verdicts of several studies on one page, from what their folders hold."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.studies.pages import seeds_note, state_of
from ragen_starpo.studies.tables import VERDICT_COLUMNS, markdown, plain, verdict_rows


def overview(folder: Path) -> str:
    """Return a section of Markdown for each study that has claims, by their names.

    Args:
        folder: each folder in it that holds a `study.json` is a study's; its `study.md` is linked.

    Raises:
        UserError: if there is no study with claims, or one cannot be read.
    """
    sections = [_section(file) for file in sorted(folder.glob("*/study.json"))]
    if not any(sections):
        raise UserError(f"{folder} has no folder with the study.json of a study with claims")
    return "\n\n".join(filter(None, sections)) + "\n"


def _section(file: Path) -> str:
    results = read_whole(file)
    if not results["claims"]:
        return ""
    name = file.parent.name
    lead = [plain(results["study"]["question"]), f"[{state_of(results)}]({quote(name)}/study.md)."]
    return "\n\n".join(
        [
            f"## {plain(name)}",
            " ".join([*lead, *filter(None, [seeds_note(results)])]),
            markdown(VERDICT_COLUMNS, verdict_rows(results)),
        ]
    )
