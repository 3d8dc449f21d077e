"""`announce`, `submit` and `verify`: entries of the leaderboard."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import DrawsOptions, JsonOptions, PriceOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.settings.options import MODELS, EvaluationOptions

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject
    from ragen_bench.leaderboard.announcements import FindDraw
    from ragen_bench.leaderboard.plausibility import EntryScores


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
        Path | None, Option("FILE", "(default: leaderboard/announcements/MODEL_SUITE_drawn.json)")
    ] = None

    def run(self) -> int:
        """Write the announcement, and print the commitment and the next steps."""
        from rich.text import Text

        from ragen_bench.api import load_model
        from ragen_bench.leaderboard import announcements
        from ragen_bench.leaderboard.pack import make_entry_name
        from ragen_bench.leaderboard.strict_json import EntryError
        from ragen_bench.runs.draws import build_announcement, compute_commitment
        from ragen_bench.settings.build import build_evaluation
        from ragen_bench.terminal.console import plain_console

        if self.split != "drawn" or self.draw is not None:
            raise UserError(
                "an announcement is for the drawn split and comes before its draw; remove --split "
                "and --draw"
            )
        evaluation = build_evaluation(self)
        name = make_entry_name(self.model, evaluation.suite or "envs", "drawn")
        file = self.out or Path("leaderboard") / announcements.ANNOUNCEMENTS / f"{name}.json"
        try:
            announcements.check_file_name(file.name)
        except EntryError as error:
            raise UserError(f"{error}; choose another --out") from None
        _refuse_existing(file)
        evaluation.settings()  # raises for wrong settings before a model is loaded
        console = plain_console()
        model = load_model(console, evaluation)
        # Only a running engine knows which settings its server refuses.
        model.engine(evaluation.sampling).close()
        announcement = build_announcement(evaluation.config(model).as_json())
        text = announcements.render_json(announcement)
        try:
            announcements.read_announcement(text.encode())
            config = announcements.check_announcement(announcement)
        except EntryError as error:
            raise UserError(f"the announcement cannot be sent: {error}") from None
        commitment = compute_commitment(announcement)
        _refuse_existing(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")
        lines = [f"Announcement  {file}", f"Commitment    {commitment}"]
        if refusal := announcements.explain_announced_refusal(config):
            lines.append(f"Note          not an entry of the leaderboard: {refusal}")
        else:
            lines += [
                "Next          send this one file in a pull request; all of it is published",
                f"Answer        leaderboard/{announcements.DRAWS}/{commitment}.json, drawn when it "
                "is merged",
                "Then          ragen-bench evaluate with the same options, --split drawn and "
                "--draw ANSWER",
            ]
        console.print(Text("\n".join(lines)), soft_wrap=True)
        return 0


def _refuse_existing(file: Path) -> None:
    if file.exists() or file.is_symlink():
        raise UserError(f"{file} exists already; choose another --out")


_read_size = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([KMBT]?)", re.IGNORECASE).fullmatch
_ZEROS = {"": 0, "K": 3, "M": 6, "B": 9, "T": 12}


@dataclass(frozen=True, kw_only=True)
class Submit(JsonOptions, DrawsOptions, PriceOptions, Command):
    """Packs a finished run as an entry of the leaderboard.

    Writes a directory with entry.json and the compressed episodes. All of it is published: the
    whole run.json, with the command line, and every response.
    """

    directory: Annotated[Path, Argument("RUN")]
    name: Annotated[str, Option("TEXT", "name of the model in the table")]
    submitter: Annotated[str, Option("TEXT", "name of the submitter")]
    contact: Annotated[str | None, Option("TEXT", "contact of the submitter")] = None
    link: Annotated[str | None, Option("URL", "page about the model")] = None
    parameters: Annotated[str | None, Option("N", "the model's size: 135M, 7B, 1500000")] = None
    open_weights: Annotated[
        bool | None, Option(None, "whether the weights are public (default: not stated)")
    ] = None
    date: Annotated[
        str | None, Option("DAY", "date of the run, YYYY-MM-DD (default: not stated)")
    ] = None
    out: Annotated[
        Path | None, Option("DIR", "the entry (default: leaderboard/entries/NAME_SUITE_SPLIT)")
    ] = None

    def run(self) -> int:
        """Pack the run, and print where the entry is and the next step."""
        with self.output() as content:
            self._submit(content)
        return 0

    def _submit(self, content: JsonObject) -> None:
        from ragen_bench.leaderboard import About, make_entry_name, nondefault_settings, pack
        from ragen_bench.leaderboard.files import EPISODES
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.progress import episodes_bar

        about = About(
            name=self.name,
            submitter=self.submitter,
            contact=self.contact,
            link=self.link,
            parameters=_parse_size(self.parameters),
            open_weights=self.open_weights,
            date=self.date,
        )
        prices, draws = load_prices(self.prices), self.find_draw()
        config = read_run(self.directory).config
        out = self.out or Path("leaderboard/entries") / make_entry_name(
            about.name, config.suite, config.split
        )
        console = plain_console()
        with episodes_bar(console, "Replaying") as progress:
            entry = pack(self.directory, out, about, prices, progress, draws)
        summary, size = entry["summary"], (out / EPISODES).stat().st_size
        lines = [
            f"Entry     {out}",
            f"Episodes  {summary['episodes']:,}, {size:,} bytes packed",
            f"Score     {summary['suite_score']} on {config.suite}",
        ]
        differing = list(nondefault_settings(config))
        content.update(
            entry=str(out),
            episodes=summary["episodes"],
            bytes=size,
            suite=config.suite,
            suite_score=summary["suite_score"],
            differing=differing,
            command=config.command,
        )
        if differing:
            lines.append(f"Apart     {', '.join(differing)}: not ranked with the others")
        lines.append(f"Command   {config.command} (published, as all of run.json)")
        draws_option = "" if self.draws is None else f" --draws {self.draws}"
        lines.append(f"Next      ragen-bench verify {out}{draws_option}")
        console.print("\n".join(lines), soft_wrap=True)


def _parse_size(text: str | None) -> int | None:
    """Return a number of parameters: 1.5B is 1,500,000,000."""
    if text is None:
        return None
    match = _read_size(text)
    if match:
        whole, decimals, unit = match[1], match[2] or "", match[3].upper()
        zeros = _ZEROS[unit] - len(decimals)
        size = int(whole + decimals + "0" * zeros) if zeros >= 0 else 0
        if 0 < size < 10**18:
            return size
    raise UserError(f"--parameters must be a number such as 135M, 7B or 1500000, got {text!r}")


@dataclass(frozen=True, kw_only=True)
class Verify(JsonOptions, DrawsOptions, Command):
    """Recomputes a leaderboard entry from its responses.

    Replays every response and recomputes every metric; nothing in the entry that can be computed is
    trusted. Ends with exit code 1 if anything differs.
    """

    entry: Annotated[Path, Argument("ENTRY")]

    def run(self) -> int:
        """Print one line for each check; return 1 if the entry is refused."""
        draws = self.find_draw()
        with self.output() as content:
            return 0 if verify_entry(self.entry, content, draws) else 1


def verify_entry(
    path: Path,
    content: JsonObject,
    draws: FindDraw | None = None,
    others: Iterable[EntryScores] | None = None,
) -> bool:
    """Verify an entry, print the checks, and return whether it is verified.

    The findings are put into `content`. Without `draws` and `others`, the draws and the entries to
    compare with are those of the entry's leaderboard. A UserError is raised without such a path.
    """
    from ragen_bench.leaderboard import verify
    from ragen_bench.leaderboard.files import printable_name
    from ragen_bench.terminal.console import plain_console
    from ragen_bench.terminal.progress import episodes_bar

    console = plain_console()
    start = time.perf_counter()
    with episodes_bar(console, "Replaying") as progress:
        verdict = verify(path, progress, draws, others)
    for check in verdict.checks:
        status = "ok" if check.passed else "FAIL"
        console.print(f"{status:<5} {check.name:<10} {check.message}", soft_wrap=True)
    for sign in verdict.signs if verdict.verified else ():
        console.print(f"{'sign':<5} {sign.name:<10} {sign.message}", soft_wrap=True)
    content.update(verdict.as_json())
    if not verdict.verified:
        console.print(f"NOT verified: {printable_name(verdict.directory)}", soft_wrap=True)
        return False
    console.print(
        f"Verified: {verdict.directory}, {verdict.episodes:,} episodes in "
        f"{time.perf_counter() - start:.1f} s",
        soft_wrap=True,
    )
    return True
