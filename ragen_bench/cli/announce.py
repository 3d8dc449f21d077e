"""`announce`: commits to a model and its settings, before instances and noise are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.settings.options import MODELS, EvaluationOptions

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation
    from ragen_bench.json_types import JsonObject


@dataclass(frozen=True, kw_only=True)
class Announce(EvaluationOptions, Command):
    """Commits to a model and its settings, before instances and noise are drawn.

    Writes an announcement: the model's identity, the settings and the environments, as `evaluate`
    with the same options would record them. Its hash is the commitment. The project answers with a
    random draw, and `evaluate --split drawn --draw FILE` uses that draw.
    """

    model: Annotated[str, Argument("MODEL", MODELS)]
    split: Annotated[str, Option("NAME", "drawn, the only one")] = "drawn"
    out: Annotated[
        Path | None,
        Option("FILE", "(default: leaderboard/announcements/MODEL_SUITE_drawn.json)"),
    ] = None

    def run(self) -> int:
        """Write the announcement, and print the commitment and the next steps."""
        from ragen_bench.leaderboard.announcements.draws import ANNOUNCEMENTS
        from ragen_bench.leaderboard.pack import make_entry_name
        from ragen_bench.settings.build import build_evaluation

        if self.split != "drawn" or self.draw is not None:
            raise UserError(
                "an announcement is for the drawn split and comes before its draw; remove --split "
                "and --draw"
            )
        evaluation = build_evaluation(self)
        name = make_entry_name(self.model, evaluation.suite or "envs", "drawn")
        _announce(evaluation, self.out or Path("leaderboard") / ANNOUNCEMENTS / f"{name}.json")
        return 0


def _announce(evaluation: Evaluation, file: Path) -> None:
    from rich.text import Text

    from ragen_bench.leaderboard.announcements import draws, files
    from ragen_bench.leaderboard.errors import EntryError
    from ragen_bench.runs.draws import compute_commitment
    from ragen_bench.terminal.console import plain_console

    try:
        files.check_file_name(file.name)
    except EntryError as error:
        raise UserError(f"{error}; choose another --out") from None
    _refuse_existing(file)
    announcement = _build_announcement(evaluation)
    text = files.render_json(announcement)
    try:
        files.read_announcement(text.encode())
        config = files.check_announcement(announcement)
    except EntryError as error:
        raise UserError(f"the announcement cannot be sent: {error}") from None
    commitment = compute_commitment(announcement)
    _refuse_existing(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="ascii")
    lines = [f"Announcement  {file}", f"Commitment    {commitment}"]
    if refusal := files.explain_announced_refusal(config):
        lines.append(f"Note          not an entry of the leaderboard: {refusal}")
    else:
        lines += [
            "Next          send this one file in a pull request; all of it is published",
            f"Answer        leaderboard/{draws.DRAWS}/{commitment}.json, drawn when it is merged",
            "Then          ragen-bench evaluate with the same options, --split drawn and --draw "
            "ANSWER",
        ]
    plain_console().print(Text("\n".join(lines)), soft_wrap=True)


def _build_announcement(evaluation: Evaluation) -> JsonObject:
    from ragen_bench.api import load_model
    from ragen_bench.runs.draws import build_announcement
    from ragen_bench.terminal.console import plain_console

    evaluation.settings()  # raises for wrong settings before a model is loaded
    model = load_model(plain_console(), evaluation)
    # Only a running engine knows which settings its server refuses.
    model.engine(evaluation.sampling).close()
    return build_announcement(evaluation.config(model).as_json())


def _refuse_existing(file: Path) -> None:
    if file.exists() or file.is_symlink():
        raise UserError(f"{file} exists already; choose another --out")
