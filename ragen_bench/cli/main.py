"""Reads the command line and calls one function for it."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from ragen_bench.errors import INTERRUPTED, UserError
from ragen_envs.protocol import RESPONSE_FORMATS
from ragen_envs.sealed import SealedKeyError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    _print_whatever_the_terminal_holds()
    try:
        parsed = _parser().parse_args(arguments)
        return int(parsed.run(parsed))
    except UserError as error:
        sys.stderr.write(f"ragen-bench: {error}\n")
        return error.exit_code
    except SealedKeyError as error:
        sys.stderr.write(f"ragen-bench: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nragen-bench: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has had enough.
        sys.stderr.close()
        return 0
    except OSError as error:
        # A directory that cannot be written, a full disk: no fault of the program's.
        place = "" if error.filename is None else f"{error.filename}: "
        sys.stderr.write(f"ragen-bench: {place}{error.strerror or error}\n")
        return 1


def _print_whatever_the_terminal_holds() -> None:
    """Show a question mark for what the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (try `{self.prog} --help`)")


def _parser() -> _Parser:
    parser = _Parser(prog="ragen-bench", description="Scores models on text environments.")
    parser.add_argument("--version", action="version", version=f"ragen-bench {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _add_evaluate(commands)
    _add_others(commands)
    _add_audit(commands)
    _add_doctor(commands)
    _add_annotate(commands)
    _add_export(commands)
    _add_sealed(commands)
    _add_reading(commands)
    return parser


def _version() -> str:
    try:
        return version("ragen-bench")
    except PackageNotFoundError:
        return "(not installed)"


def _add_evaluate(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="score a model; the same command resumes an interrupted run",
        description="Scores a model on held-out instances. The same command resumes.",
    )
    _add_evaluation(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="run directory (default: in runs/)")
    _add_prices(parser)
    parser.set_defaults(run=_evaluate)


def _add_prices(parser: _Parser) -> None:
    parser.add_argument(
        "--prices", type=Path, metavar="FILE", help="what tokens cost (default: $RAGEN_PRICES)"
    )


def _add_evaluation(parser: _Parser) -> None:
    """Add the options that say what is evaluated, and how."""
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="random, oracle, smollm2-135m, hf/..., openai/..., python:...",
    )
    add("--suite", metavar="NAME", help="a named set of environments (default: core)")
    add("--env", metavar="ID", action="append", help="an environment; may be repeated")
    add(
        "--split", default="test", metavar="NAME", help="train, val, test or sealed (default: test)"
    )
    add("--limit", type=int, metavar="N", help="at most N instances of each environment")
    add("--samples", type=int, default=1, metavar="K", help="episodes an instance (default: 1)")
    add("--seed", type=int, default=0, metavar="N", help="of sampling and noise (default: 0)")
    add("--temperature", type=float, default=0.5, metavar="T", help="0: greedy (default: 0.5)")
    add("--max-tokens", type=int, metavar="N", help="tokens in an answer (default: the suite's)")
    add(
        "--format",
        default="think",
        metavar="NAME",
        help=f"{', '.join(RESPONSE_FORMATS)} (default: think)",
    )
    add("--history", default="full", metavar="N", help="past turns shown: full, none or a number")
    add(
        "--constrain",
        action="store_true",
        help="let only answers in form pass, where the engine can do it; the run is marked",
    )
    add("--base-url", metavar="URL", help="of openai/NAME's server (default: OPENAI_BASE_URL)")
    add("--concurrency", type=int, metavar="N", help="requests in flight there (default: 8)")
    add("--timeout", type=float, metavar="S", help="seconds for an answer (default: 600)")
    add("--retries", type=int, metavar="N", help="of a request that failed (default: 7)")


def _add_doctor(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "doctor",
        help="look at a model before a long run",
        description="Looks at what `evaluate` with the same options would use: whether the oracle "
        "reaches its ceiling, and whether the model is there, answers, keeps the form, stops, "
        "respects its token limit and repeats itself.",
    )
    _add_evaluation(parser)
    parser.add_argument(
        "--questions", type=int, default=8, metavar="N", help="first turns to ask (default: 8)"
    )
    parser.set_defaults(run=_doctor)


def _add_audit(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "audit",
        help="prove the suite's guarantees on this machine, or check another environment",
        description="Generates, solves and compares instances of the suite's environments and "
        "runs the testing kit on them; on another environment it runs the kit.",
    )
    add = parser.add_argument
    add(
        "env",
        nargs="*",
        metavar="ENV",
        help="ids of the suite (default: all), other ids such as my_pkg:my/Env-v0, or "
        "python:MODULE:ATTRIBUTE, a ragen_envs.testing.Subject or what makes an environment",
    )
    add("--levels", type=int, default=1000, metavar="N", help="train instances (default: 1000)")
    add("--sealed", action="store_true", help="look at the sealed split too; its key is needed")
    add("--out", type=Path, metavar="FILE", help="write everything that was counted as JSON")
    parser.set_defaults(run=_audit)


def _add_others(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser("list", help="environments, suites and models")
    parser.set_defaults(run=_list)
    parser = commands.add_parser("describe", help="an environment's specification")
    parser.add_argument("env", metavar="ENV")
    parser.set_defaults(run=_describe)
    parser = commands.add_parser("play", help="play an environment yourself")
    parser.add_argument("env", metavar="ENV")
    parser.add_argument("--split", default="train", metavar="NAME", help="default: train")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which instance")
    parser.add_argument("--rollout", type=int, default=0, metavar="N", help="which noise")
    parser.set_defaults(run=_play)
    parser = commands.add_parser("report", help="print a run's table and write its HTML report")
    parser.add_argument("directory", type=Path, metavar="RUN")
    _add_prices(parser)
    parser.set_defaults(run=_report)
    parser = commands.add_parser("compare", help="how two runs differ on the same instances")
    parser.add_argument("a", type=Path, metavar="RUN_A")
    parser.add_argument("b", type=Path, metavar="RUN_B")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.set_defaults(run=_compare)


def _add_reading(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "replay",
        help="recompute a run from its answers and compare",
        description="Plays every episode of a run again from its answers alone and compares every "
        "field of the record. Ends with exit code 1 if anything differs.",
    )
    parser.add_argument("directory", type=Path, metavar="RUN")
    parser.set_defaults(run=_replay)
    parser = commands.add_parser(
        "analyse",
        help="say why a run's episodes failed, and how the model reasoned",
        description="Replays a run, prints the causes of its failures and measures of its "
        "reasoning, and writes them to RUN/analysis.json.",
    )
    parser.add_argument("directory", type=Path, metavar="RUN")
    parser.set_defaults(run=_analyse)


def _add_annotate(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "annotate",
        help="rate trajectories blind, or see how far raters agree",
        description="Shows episodes without saying who played them, and keeps the ratings in each "
        "run's ratings.jsonl. Several runs are shuffled together.",
    )
    add = parser.add_argument
    add("runs", type=Path, nargs="+", metavar="RUN")
    add("--rater", metavar="NAME", help="whose ratings they are")
    add("--count", type=int, default=30, metavar="N", help="episodes (default: 30)")
    add("--seed", type=int, default=0, metavar="N", help="which episodes (default: 0)")
    add("--browser", action="store_true", help="on a page in the browser, not in the terminal")
    add("--agreement", action="store_true", help="print the ratings and how far raters agree")
    parser.set_defaults(run=_annotate)


def _add_export(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "export",
        help="a run, or demonstrations of the oracle, as a Parquet data set",
        description="Writes one row an episode; datasets.load_dataset(DIR) reads it.",
    )
    add = parser.add_argument
    add("source", metavar="RUN|oracle", help="a run directory; or the oracle, on train instances")
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty directory")
    add("--env", metavar="ID", action="append", help="oracle: an environment (default: core's)")
    add("--limit", type=int, metavar="N", help="oracle: instances of each (default: 256)")
    add("--format", metavar="NAME", help=f"oracle: {', '.join(RESPONSE_FORMATS)} (default: think)")
    parser.set_defaults(run=_export)


def _add_sealed(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "sealed",
        help="keys of the sealed split: make one, publish its hash, check it afterwards",
        description="A host makes a key, publishes its hash before an event and the key after it.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    action = actions.add_parser("new", help="write a new key to a file and print its hash")
    action.add_argument("file", type=Path, metavar="FILE")
    action.set_defaults(run=lambda parsed: _sealed().new(parsed.file))
    action = actions.add_parser("hash", help="print the hash of a key, to be published")
    action.add_argument("file", type=Path, metavar="FILE")
    action.set_defaults(run=lambda parsed: _sealed().show_hash(parsed.file))
    action = actions.add_parser("check", help="compare a published key with the hash before it")
    action.add_argument("file", type=Path, metavar="FILE")
    action.add_argument("hash", metavar="HASH")
    action.set_defaults(run=lambda parsed: _sealed().check(parsed.file, parsed.hash))


# Imported where they are called, so that `list` does not wait for what `evaluate` needs.


def _evaluate(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.evaluate import run_evaluate

    return run_evaluate(arguments)


def _doctor(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.doctor import run_doctor

    return run_doctor(arguments)


def _audit(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.audit import audit

    return audit(arguments.env, arguments.levels, arguments.sealed, arguments.out)


def _list(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.show import list_all

    return list_all()


def _describe(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.show import describe

    return describe(arguments.env)


def _play(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.play import play

    return play(arguments.env, arguments.split, arguments.seed, arguments.rollout)


def _report(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.results import report_run

    return report_run(arguments.directory, arguments.prices)


def _compare(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.compare import run_compare

    return run_compare(arguments.a, arguments.b, arguments.json)


def _replay(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.replay import run_replay

    return run_replay(arguments.directory)


def _analyse(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.analyse import run_analyse

    return run_analyse(arguments.directory)


def _annotate(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.annotate import run_annotate

    return run_annotate(arguments)


def _export(arguments: argparse.Namespace) -> int:
    from ragen_bench.cli.export import run_export

    return run_export(arguments)


def _sealed() -> ModuleType:
    from ragen_bench.cli import sealed

    return sealed
