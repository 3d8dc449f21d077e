"""The arguments of `evaluate` and `doctor`."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.cli.arguments.base import Commands, Parser, add_prices, lazily
from ragen_envs.protocol import RESPONSE_FORMATS


def add(commands: Commands) -> None:
    """Add them."""
    _add_evaluate(commands)
    _add_doctor(commands)


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="score a model; the same command resumes an interrupted run",
        description="Scores a model on held-out instances. The same command resumes.",
    )
    _add_evaluation(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="run directory (default: in runs/)")
    add_prices(parser)
    parser.set_defaults(
        run=lazily("cli.evaluate", lambda module, given: module.run_evaluate(given))
    )


def _add_doctor(commands: Commands) -> None:
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
    parser.set_defaults(run=lazily("cli.doctor", lambda module, given: module.run_doctor(given)))


def _add_evaluation(parser: Parser) -> None:
    """Add the options that say what is evaluated, and how."""
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="random, oracle, smollm2-135m, hf/..., vllm/..., gguf/..., openai/..., python:...",
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
    add("--opponent", metavar="MODEL", help="who plays against it, in games that need one")
    add("--opponent-format", metavar="NAME", help="of its answers (default: as --format)")
    add("--base-url", metavar="URL", help="of openai/NAME's server (default: OPENAI_BASE_URL)")
    add("--opponent-base-url", metavar="URL", help="of the opponent's (default: as --base-url)")
    add("--concurrency", type=int, metavar="N", help="requests in flight: openai/, vllm/, hf/")
    add("--timeout", type=float, metavar="S", help="seconds for an answer (default: 600)")
    add("--retries", type=int, metavar="N", help="of a request that failed (default: 7)")
