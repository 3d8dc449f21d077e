"""Announcements and draws, as they are made and answered."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from ragen_bench.console.plain import plain_console
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements import (
    check_announced_entry,
    check_file_name,
    read_announcement,
    text_of,
)
from ragen_bench.leaderboard.draws import DRAWS, draw_all
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.opponents.opponent import load
from ragen_bench.runs.draws import announcement_of, commitment_of
from ragen_bench.runs.schema import Object
from ragen_bench.visible import visible


def announce(evaluation: Evaluation, file: Path) -> None:
    """Write what an evaluation announces, and print the commitment and what comes next.

    Raises:
        UserError: if there is a file already, or the evaluation cannot be.
    """
    try:
        check_file_name(file.name)
    except EntryError as error:
        raise UserError(f"{error}; choose another --out") from None
    _refuse_taken(file)
    announcement = _announcement(evaluation)
    text = text_of(announcement)
    try:
        read_announcement(text.encode())
    except EntryError as error:
        raise UserError(f"the announcement cannot be sent: {error}") from None
    commitment = commitment_of(announcement)
    _refuse_taken(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="ascii")
    lines = [
        f"Announcement  {file}",
        f"Commitment    {commitment}",
    ]
    try:
        check_announced_entry(announcement)
    except EntryError as error:
        lines.append(f"Note          no entry of the leaderboard: {'; '.join(error.args)}")
    else:
        lines += [
            "Next          send this one file in a pull request; all of it is published",
            f"Answer        leaderboard/{DRAWS}/{commitment}.json, drawn when it is merged",
            "Then          ragen-bench evaluate with the same options, --split drawn and --draw "
            "ANSWER",
        ]
    plain_console().print(Text("\n".join(lines)), soft_wrap=True)


def print_draws(leaderboard: Path) -> bool:
    """Draw for the announcements that have no draw, print each; return whether none is refused."""
    console = plain_console()
    refused = 0
    for answer in draw_all(leaderboard):
        name = visible(answer.name)
        if answer.problem:
            refused += 1
            console.print(Text(f"REFUSED  {name}: {visible(answer.problem)}"), soft_wrap=True)
        else:
            what = "drawn" if answer.draw else "kept"
            console.print(Text(f"{what:<7}  {name}: {answer.file}"), soft_wrap=True)
        if answer.note:
            said = f"no entry of the leaderboard: {visible(answer.note)}"
            console.print(Text(f"note     {name}: {said}"), soft_wrap=True)
    return not refused


def _announcement(evaluation: Evaluation) -> Object:
    evaluation.settings()  # what cannot be announced is refused before a model is loaded
    with plain_console().status(Text(f"Loading {evaluation.model} ...")):
        model = load(
            evaluation.model,
            evaluation.server,
            evaluation.opponent,
            evaluation.random_player,
            evaluation.isolation,
        )
        # As before a run: a server says only then which settings it refuses.
        model.engine(evaluation.sampling).close()
    return announcement_of(evaluation.config(model).as_json())


def _refuse_taken(file: Path) -> None:
    if file.exists() or file.is_symlink():
        raise UserError(f"{file} is there already; choose another --out")
