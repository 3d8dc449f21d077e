"""`play` and `annotate`: a person plays an environment, or rates episodes blind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import visible, write_out

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject
    from ragen_bench.pages.annotation.session import Rating, Session
    from ragen_bench.pages.play.episode import HumanEpisode
    from ragen_bench.runs.schema import Key

_QUIT = {"q", "quit", "exit"}
_YES = {"y", "yes"}
_LIST = "?"
_SKIP = "skip"
_MAX_LISTED = 40
"""Actions that are listed at once at most; `?TEXT` lists those with a text."""


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Lets you play an environment, or with --record a run like a model's.

    A recorded run has the instances in the split's order. The same command goes on with it, and
    other people play into it with the same --group.
    """

    env: Annotated[tuple[str, ...], Argument("ENV", "an environment; several with --record")] = ()
    split: Annotated[
        str | None, Option("NAME", "train, val or test (default: train; with --record test)")
    ] = None
    seed: Annotated[int | None, Option("N", "index of the instance (default: 0)")] = None
    noise_seed: Annotated[int | None, Option("N", "seed of the noise (default: 0)")] = None
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    port: Annotated[int | None, Option("N", "port of the page (default: 0, a free one)")] = None
    record: Annotated[bool, Option(None, "record your episodes as a run of human:NAME")] = False
    player: Annotated[str | None, Option("NAME", "who plays, such as p1; the run has it")] = None
    group: Annotated[
        str | None, Option("NAME", "name of a run of several people (default: the player's)")
    ] = None
    suite: Annotated[str | None, Option("NAME", "a suite to record, instead of ENV")] = None
    limit: Annotated[int | None, Option("N", "at most N instances of each environment")] = None
    samples: Annotated[
        int | None, Option("K", "people who play each instance, once each (default: 1)")
    ] = None
    draw: Annotated[Path | None, Option("FILE", "the project's draw, for the drawn split")] = None
    format: Annotated[
        str | None, Option("NAME", "format of the run: think, answer or plain (default: think)")
    ] = None
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None

    def run(self) -> int:
        """Play one episode or a run, or serve the page until Ctrl-C."""
        if self.port is not None and not self.browser:
            raise UserError("--port goes with --browser; remove it, or add --browser")
        if self.record:
            from ragen_bench.cli.record import record

            return record(self)
        for name in _RECORDING:
            if getattr(self, name) is not None:
                raise UserError(f"--{name} goes with --record; remove it, or add --record")
        if len(self.env) != 1:
            raise UserError(f"play takes one ENV, got {len(self.env)}; --record takes several")
        from ragen_bench.pages.play.episode import HumanEpisode, choose_episode

        choice = choose_episode(
            self.env[0], self.split or "train", self.seed or 0, self.noise_seed or 0
        )
        if self.browser:
            from ragen_bench.pages.play.server import PlayServer

            PlayServer(choice, self.port or 0).serve("Play")
            return 0
        if not play_in_terminal(HumanEpisode(choice)):
            write_out("You left the game.\n")
        return 0


_RECORDING = ("player", "group", "suite", "limit", "samples", "draw", "format", "out")
"""Options of a recorded run."""


def play_in_terminal(episode: HumanEpisode, skip: Callable[[], None] | None = None) -> bool:
    """Play an episode in the terminal; return whether it ended, since the player may leave.

    `skip` gives the episode up, where that is possible.
    """
    from ragen_bench.pages.play.episode import describe_ending

    if episode.turns:
        first = visible(episode.turns[0].observation)
        write_out(f"{first}\n\nYou go on after turn {len(episode.turns)}.\n\n")
    skipping = f", {_SKIP} gives it up" if skip else ""
    keys = f"(q ends the game{skipping}, {_LIST} lists the actions)"
    write_out(f"{visible(episode.observation)}\n\n{keys}\n")
    while not episode.over:
        response = _read_response(episode)
        if response is None:
            return False
        if skip and response.strip().lower() == _SKIP:
            line = _read_line("Give the episode up? It counts as a failure [y/N] ")
            if line and line.strip().lower() in _YES:
                skip()
            continue
        episode.play(response)
        write_out(f"\n{visible(episode.observation)}\n\n")
    ending = describe_ending(episode)
    score = "" if ending.score is None else f", score {ending.score:.2f}"
    lines = [f"{ending.verdict}. Return {ending.total:.2f}{score}."]
    lines += [f"  {name}: {value:.2f}" for name, value in ending.parts.items()]
    if ending.oracle:
        lines.append(f"The oracle in the same episode, return {ending.oracle_total:.2f}:")
    lines += [f"  {turn.answer}" for turn in ending.oracle]
    write_out("\n".join(lines) + "\n")
    return True


def _read_response(episode: HumanEpisode) -> str | None:
    """Return a line of input; None at its end, or when the player leaves."""
    while True:
        write_out("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        words = line.strip().lower()
        if not line or words in _QUIT:
            return None
        if words.startswith(_LIST):
            write_out(_list_actions(episode, words.removeprefix(_LIST).strip()))
        elif words:
            return line.rstrip("\n")
        else:  # an empty line is a slip, and would cost a turn
            write_out(f"The line is empty. {_LIST} lists the actions.\n")


def _list_actions(episode: HumanEpisode, text: str) -> str:
    """Return the legal actions that contain a text in lower case, one a line."""
    free = episode.env.free_text
    own = [f"{free.before}WORDS{free.after}, with any words"] if free else []
    matching = [action for action in episode.listed_actions if text in action.lower()]
    lines = [*own, *matching[:_MAX_LISTED]]
    if len(matching) > _MAX_LISTED:
        rest = len(matching) - _MAX_LISTED
        lines.append(f"... and {rest} more; {_LIST}TEXT lists those with TEXT")
    return "Actions:\n" + "".join(f"  {line}\n" for line in lines)


_RULE = "-" * 72


@dataclass(frozen=True, kw_only=True)
class Annotate(JsonOptions, Command):
    """Lets people rate episodes blind, or prints how far raters agree.

    Shows episodes without the name of the model, and keeps the ratings in each run's
    ratings.jsonl. Several runs are shuffled together.
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    rater: Annotated[str | None, Option("NAME", "name of the rater")] = None
    count: Annotated[int, Option("N", "number of episodes")] = 30
    seed: Annotated[int, Option("N", "seed of the choice of episodes")] = 0
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    agreement: Annotated[bool, Option(None, "print the ratings and how far raters agree")] = False

    def run(self) -> int:
        """Let a rater rate, or print the agreement."""
        from ragen_bench.pages.annotation.session import Session
        from ragen_bench.runs.directory import read_run

        for directory in self.runs:
            read_run(directory)
        if self.agreement:
            with self.output() as content:
                content.update(measure_agreement(self.runs))
                if not self.prints_json:
                    write_out(agreement_table(content))
            return 0
        if self.json:
            raise UserError("--json goes with --agreement; add it, or remove --json")
        if self.rater is None:
            raise UserError("--rater NAME is missing; give it, or ask for --agreement")
        session = Session(self.runs, self.rater, self.count, self.seed)
        if self.browser:
            from ragen_bench.pages.annotation.server import AnnotationServer

            AnnotationServer(session).serve("Rate")
        else:
            rate_in_terminal(session)
        return 0


def measure_agreement(runs: Iterable[Path]) -> JsonObject:
    """Return the ratings of all raters by question, with Krippendorff's alpha."""
    from ragen_bench.pages.annotation.session import (
        QUESTIONS,
        SCALE,
        krippendorff_alpha,
        read_ratings,
        resolve_distinct,
    )

    units: dict[tuple[Path, Key], list[Rating]] = {}
    for run in resolve_distinct(runs):
        for rating in read_ratings(run):
            units.setdefault((run, rating.key), []).append(rating)
    questions = {}
    for question in QUESTIONS:
        levels = [[getattr(rating, question) for rating in unit] for unit in units.values()]
        flat = [level for unit in levels for level in unit]
        counts = {name: flat.count(level) for level, name in enumerate(SCALE)}
        questions[question] = {**counts, "alpha": krippendorff_alpha(levels, len(SCALE))}
    return {
        "ratings": sum(map(len, units.values())),
        "raters": len({rating.rater for unit in units.values() for rating in unit}),
        "episodes": len(units),
        "shared": sum(len(unit) > 1 for unit in units.values()),
        "questions": questions,
    }


def agreement_table(measured: JsonObject) -> str:
    """Return the result of `measure_agreement` as a table."""
    if not measured["ratings"]:
        return "No ratings yet.\n"
    lines = [
        "{ratings} ratings by {raters} raters; {shared} of {episodes} episodes were rated by more "
        "than one.".format_map(measured),
        f"{'':<16}{'no':>6}{'partly':>8}{'yes':>6}{'alpha':>8}",
    ]
    for question, row in measured["questions"].items():
        alpha = "-" if row["alpha"] is None else f"{row['alpha']:.2f}"
        counts = f"{row['no']:>6}{row['partly']:>8}{row['yes']:>6}"
        lines.append(f"{question:<16}{counts}{alpha:>8}")
    lines.append("alpha: Krippendorff's, ordinal; 1 is full agreement, 0 is chance.")
    return "\n".join(lines) + "\n"


def rate_in_terminal(session: Session) -> None:
    """Show one episode after the other and ask for its ratings, until the rater leaves."""
    from ragen_bench.pages.annotation.session import SCALE

    waiting = session.waiting()
    done = len(session.chosen) - len(waiting)
    write_out(
        f"{len(waiting)} episodes to rate, {done} rated. The model's name is hidden. Keys for "
        f"each question: {', '.join(f'{name[0]} {name}' for name in SCALE)}; q leaves and keeps "
        "the ratings.\n"
    )
    for number, (run, key) in enumerate(waiting, start=done + 1):
        write_out(f"\n{_RULE}\nEpisode {number} of {len(session.chosen)}\n")
        trace = session.trace(run, key)
        for turn, (observation, response) in enumerate(trace.turns, start=1):
            write_out(f"\n--- Turn {turn}\n{visible(observation)}\n\n>>> {visible(response)}\n")
        write_out(f"\n--- End\n{visible(trace.ending)}\n{_RULE}\n")
        ratings = _ask_ratings()
        if ratings is None:
            write_out(f"\n{number - 1} of {len(session.chosen)} rated.\n")
            return
        comment = _read_line("Comment (or Enter): ")
        session.rate(run, key, ratings, comment or "")
    write_out("\nAll are rated. Thank you.\n")


def _ask_ratings() -> dict[str, int] | None:
    """Return the ratings; None if the rater leaves."""
    from ragen_bench.pages.annotation.session import QUESTIONS, SCALE

    levels = {name[0]: level for level, name in enumerate(SCALE)}
    choices = ", ".join(f"{name[0]} for {name}" for name in SCALE)
    ratings: dict[str, int] = {}
    for name, question in QUESTIONS.items():
        while name not in ratings:
            line = _read_line(f"{question} [{'/'.join(levels)}] ")
            word = "q" if line is None else line.strip().lower()
            if word in ("q", "quit"):
                return None
            if word[:1] in levels:
                ratings[name] = levels[word[:1]]
            else:
                write_out(f"Type {choices}, or q to leave.\n")
    return ratings


def _read_line(prompt: str) -> str | None:
    """Return a line that the rater typed, or None at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return None
