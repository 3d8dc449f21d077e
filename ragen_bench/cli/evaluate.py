"""`evaluate`: from the command line to a finished run, with a progress bar."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from ragen_bench.cli.naming import DEFAULT_MAX_TOKENS, default_path
from ragen_bench.cli.server_options import opponent_of, server_of
from ragen_bench.episodes.episode import SAMPLES_A_SEED
from ragen_bench.episodes.evaluation import Evaluation, evaluate, refuse_early
from ragen_bench.episodes.groups import played_again, said_of_interrupted
from ragen_bench.episodes.prompt import History
from ragen_bench.errors import INCOMPLETE, INTERRUPTED, UserError, missing_extra, unknown
from ragen_bench.opponents.opponent import load
from ragen_bench.runs.directory import key_of, read_run
from ragen_bench.scores.cost import load_prices
from ragen_bench.suites import SUITES, select, split_name
from ragen_envs.protocol import RESPONSE_FORMATS, ResponseFormat
from ragen_envs.registration import IDS

try:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    from ragen_bench.console.plain import plain_console
    from ragen_bench.console.progress import PlainProgress, shortened
    from ragen_bench.console.results import show_results
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

_MOST = 10**9
"""Of what has no limit of its own: what is far beyond could be recorded, but not read again."""
_HOTTEST = 100


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Evaluate a model, print the table, and say where everything is.

    The exit code is 1 if a server left episodes unfinished.

    Raises:
        UserError: for anything in the command that cannot be.
    """
    evaluation = evaluation_of(arguments)
    console = plain_console()
    prices = load_prices(arguments.prices)
    path = arguments.out or default_path(evaluation)
    total = len(evaluation.tasks())
    refuse_early(evaluation, path)
    with console.status(Text(f"Loading {evaluation.model} ...")):
        model = load(evaluation.model, evaluation.server, evaluation.opponent)
    with _progress(console) as bar:
        name = shortened(evaluation.model, console.width)
        task = bar.add_task(name, total=total, env="", answers=0)
        plain = PlainProgress(total) if not console.is_terminal else None

        def progress(episodes: int, answers: int, env: str) -> None:
            bar.update(task, completed=episodes, env=env.partition("/")[2], answers=answers)
            if plain:
                plain.tick(episodes, answers)

        def say(line: str) -> None:
            bar.console.print(line, soft_wrap=True)

        try:
            run = evaluate(evaluation, model, path, progress, say)
        except KeyboardInterrupt:
            bar.stop()
            return _interrupted(evaluation, model.group_size, path)
        except Exception:
            bar.live.transient = True  # the one line of the error says it all
            raise
    try:
        summary = show_results(console, run, prices)
    except KeyboardInterrupt:
        return _interrupted(evaluation, model.group_size, path)
    finally:
        run.unlock()
    return INCOMPLETE if summary["infra_faults"] else 0


def _interrupted(evaluation: Evaluation, group_size: int, path: Path) -> int:
    tasks = evaluation.tasks()
    begun = (path / "run.json").is_file()
    kept = {key_of(episode) for episode in read_run(path).episodes()} if begun else set()
    again = played_again(tasks, group_size, kept)
    said = said_of_interrupted(len(kept), len(tasks), path, again)
    sys.stderr.write(f"\nragen-bench: interrupted; {said}\n")
    return INTERRUPTED


def evaluation_of(arguments: argparse.Namespace) -> Evaluation:
    """Return the evaluation that a command line describes.

    Raises:
        UserError: for anything in it that cannot be.
    """
    _check_numbers(arguments)
    # Empty is what an unset variable of a shell leaves; it must not mean the default.
    if arguments.suite == "":
        raise UserError(f"--suite is empty; choose one of: {', '.join(SUITES)}")
    if arguments.base_url == "":
        raise UserError("--base-url is empty; give it, or leave it out for OPENAI_BASE_URL")
    if "" in (arguments.env or ()):
        raise UserError(f"--env is empty; choose one of: {', '.join(IDS)}")
    opposed = arguments.opponent is not None
    instances = select(arguments.suite, arguments.env, arguments.limit, opposed)
    suite = "" if arguments.env else arguments.suite or "core"
    default = SUITES[suite].max_tokens if suite else DEFAULT_MAX_TOKENS
    return Evaluation(
        model=arguments.model,
        suite=suite,
        instances=instances,
        split=split_name(arguments.split),
        response_format=response_format_of(arguments.format),
        samples=arguments.samples,
        seed=arguments.seed,
        temperature=arguments.temperature,
        max_tokens=arguments.max_tokens or default,
        history=_history(arguments.history),
        constrain=arguments.constrain,
        command=shlex.join(["ragen-bench", *sys.argv[1:]]),
        server=server_of(arguments),
        opponent=opponent_of(arguments, _opponent_format(arguments)),
    )


def _opponent_format(arguments: argparse.Namespace) -> ResponseFormat:
    given = arguments.opponent_format
    return response_format_of(arguments.format if given is None else given)


def _check_numbers(arguments: argparse.Namespace) -> None:
    for option, value, least, most in (
        ("--samples", arguments.samples, 1, SAMPLES_A_SEED),
        ("--seed", arguments.seed, 0, _MOST),
        ("--max-tokens", arguments.max_tokens, 1, _MOST),
        ("--concurrency", arguments.concurrency, 1, _MOST),
        ("--retries", arguments.retries, 0, _MOST),
    ):
        if value is not None and value < least:
            raise UserError(f"{option} is at least {least}, got {value}")
        if value is not None and value > most:
            raise UserError(f"{option} is at most {most}, got {value}")
    if not 0 <= arguments.temperature <= _HOTTEST:
        raise UserError(
            f"--temperature is a number of at least 0 and at most {_HOTTEST}, "
            f"got {arguments.temperature}"
        )
    if arguments.timeout is not None and not 0 < arguments.timeout < float("inf"):
        raise UserError(f"--timeout is a number of seconds above 0, got {arguments.timeout}")


def _history(given: str) -> History:
    if given == "full":
        return None
    if given == "none":
        return 0
    # Longer digits are no number of turns, and Python reads no int of thousands.
    if given.isascii() and given.isdecimal() and len(given) < len(str(_MOST)):
        return int(given)
    raise UserError(f"--history is full, none or a number of turns, got {given!r}")


def response_format_of(name: str) -> ResponseFormat:
    """Return a response format.

    Raises:
        UserError: if there is none of this name.
    """
    for response_format in RESPONSE_FORMATS:
        if response_format == name:
            return response_format
    raise unknown("format", name, RESPONSE_FORMATS)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[answers]} answers {task.fields[env]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
