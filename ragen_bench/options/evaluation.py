"""The evaluation that options describe, of a command line or of a call in Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ragen_bench.environments import is_text_env
from ragen_bench.episodes.episode import SAMPLES_A_SEED
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements.files import read_draw_file
from ragen_bench.models.prompt import History
from ragen_bench.models.random_player import RandomPlayer, name_random_player
from ragen_bench.models.registry import find_provider, prefixes_where
from ragen_bench.options.groups import EvaluationOptions
from ragen_bench.options.isolation import isolation_of
from ragen_bench.options.naming import DEFAULT_MAX_TOKENS
from ragen_bench.options.servers import opponent_of, server_of
from ragen_bench.runs.draws import Draw
from ragen_bench.suites import (
    SUITES,
    answer_format_of,
    plays,
    response_format_of,
    select,
    split_name,
    states_form,
)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat, written_form
from ragen_envs.making import board_ids
from ragen_envs.registration import IDS

_MOST = 10**9
"""The highest value of numbers without a limit of their own; far larger ones cannot be read."""
_MOST_MEMORY = 1 << 20
"""GiB that fit into an address space, and more."""
_HOTTEST = 100
"""The highest temperature."""


def evaluation_of(options: EvaluationOptions, command: str = "") -> Evaluation:
    """Return the evaluation that options describe.

    Args:
        options: what is evaluated, and how.
        command: how they were given, for the record.

    Raises:
        UserError: if an option has a value that it cannot have.
    """
    _check_numbers(options)
    _check_empty(options)
    opposed = options.opponent is not None
    instances = select(options.suite, options.env, options.limit, opposed)
    suite = "" if options.env else options.suite or "core"
    default = SUITES[suite].max_tokens if suite else DEFAULT_MAX_TOKENS
    random_player = _random_player(options, instances)
    _check_scripted(options.model, instances, random_player is not None)
    response_format = _format_of(options, instances)
    if options.constrain:
        _check_ability(options.model, "constrained", "--constrain")
    if options.top_p != 1:
        _check_ability(options.model, "top_p", "--top-p")
    opponent_format = written_form(response_format)
    if options.opponent_format is not None:
        opponent_format = response_format_of(options.opponent_format)
    if options.pictures:
        _check_pictures(options, instances)
    split = split_name(options.split)
    return Evaluation(
        model=options.model,
        suite=suite,
        instances=instances,
        split=split,
        response_format=response_format,
        samples=options.samples,
        seed=options.seed,
        temperature=options.temperature,
        max_tokens=options.max_tokens or default,
        history=_history(options.history),
        constrain=options.constrain,
        command=command,
        server=server_of(options),
        opponent=opponent_of(options, opponent_format),
        top_p=options.top_p,
        random_player=random_player,
        isolation=isolation_of(options, split),
        draw=_read_draw(options.draw, split),
        pictures=options.pictures,
    )


def _read_draw(file: Path | None, split: Split) -> Draw | None:
    if file is None:
        return None
    if split != "drawn":
        raise UserError(f"--draw goes with --split drawn, not with --split {split}")
    return read_draw_file(file)


def _random_player(options: EvaluationOptions, envs: Iterable[str]) -> RandomPlayer | None:
    """Return the random player that the user named, for an environment that may lack one."""
    if options.random_player is None:
        return None
    if all(map(is_text_env, envs)):
        raise UserError(
            "--random-player goes with --env MODULE:ID of another package; every TextEnv, as the "
            "suite's own are, has a random player"
        )
    return name_random_player(options.random_player)


def _check_scripted(model: str, envs: Iterable[str], random_player: bool) -> None:
    """Refuse a scripted player where an environment does not tell it what to play."""
    for env in envs:
        if not plays(model, env, random_player):
            lacks, instead = "has no oracle", "evaluate another model"
            if model == "random":
                lacks = "lists no legal actions"
                instead += ", or name a function that plays with --random-player"
            raise UserError(f"{env} {lacks}, so `{model}` cannot play it; {instead}")


def _format_of(options: EvaluationOptions, envs: Iterable[str]) -> AnswerFormat:
    """Return the form of the answers: without `--format`, the environments' or the model's own."""
    own_form = [env for env in envs if states_form(env)]
    default = "plain" if own_form else find_provider(options.model).response_format or "think"
    asked = answer_format_of(options.format or default)
    if own_form and (asked != "plain" or options.constrain):
        option = "--constrain" if options.constrain else "--format"
        raise UserError(f"{own_form[0]} states its own form of answers; leave {option} out")
    if asked == "tools":
        _check_tools(options)
    return asked


def _check_tools(options: EvaluationOptions) -> None:
    """Refuse `--format tools` for a model that cannot be offered functions."""
    _check_ability(options.model, "tools", "--format tools")
    if options.constrain:
        raise UserError("--constrain cannot be combined with --format tools; remove one of them")


def _check_ability(model: str, ability: str, option: str) -> None:
    """Refuse an option that needs an ability which the model's provider does not have."""
    if not getattr(find_provider(model), ability):
        raise UserError(
            f"{option} does not work with {model}; remove it, or use {prefixes_where(ability)}"
        )


def _check_pictures(options: EvaluationOptions, envs: Iterable[str]) -> None:
    """Refuse pictures of what has no board, and for whom they would not reach."""
    if without := [env for env in envs if env not in board_ids()]:
        raise UserError(
            f"{without[0]} has no board, so there are no --pictures of it; choose with --env from: "
            f"{', '.join(board_ids())}"
        )
    _check_ability(options.model, "pictures", "--pictures")
    if options.format == "tools":
        raise UserError("results of functions hold no pictures; leave --format tools out")


def _check_empty(options: EvaluationOptions) -> None:
    """Refuse what an unset variable of a shell leaves; it must not mean the default."""
    if options.suite == "":
        raise UserError(f"--suite is empty; choose one of: {', '.join(SUITES)}")
    if options.base_url == "":
        raise UserError("--base-url is empty; give it, or leave it out for OPENAI_BASE_URL")
    if "" in options.env:
        raise UserError(f"--env is empty; choose one of: {', '.join(IDS)}")


def _check_numbers(options: EvaluationOptions) -> None:
    for option, value, least, most in (
        ("--samples", options.samples, 1, SAMPLES_A_SEED),
        ("--seed", options.seed, 0, _MOST),
        ("--max-tokens", options.max_tokens, 1, _MOST),
        ("--concurrency", options.concurrency, 1, _MOST),
        ("--retries", options.retries, 0, _MOST),
        ("--memory", options.memory, 1, _MOST_MEMORY),
    ):
        if value is not None and value < least:
            raise UserError(f"{option} is at least {least}, got {value}")
        if value is not None and value > most:
            raise UserError(f"{option} is at most {most}, got {value}")
    if not 0 <= options.temperature <= _HOTTEST:
        raise UserError(
            f"--temperature is a number of at least 0 and at most {_HOTTEST}, "
            f"got {options.temperature}"
        )
    if not 0 < options.top_p <= 1:
        raise UserError(f"--top-p is a number above 0 and at most 1, got {options.top_p}")
    if options.timeout is not None and not 0 < options.timeout < float("inf"):
        raise UserError(f"--timeout is a number of seconds above 0, got {options.timeout}")


def _history(text: str) -> History:
    if text == "full":
        return None
    if text == "none":
        return 0
    # A number of turns has fewer digits, and Python reads no int of thousands of digits.
    if text.isascii() and text.isdecimal() and len(text) < len(str(_MOST)):
        return int(text)
    raise UserError(f"--history is full, none or a number of turns, got {text!r}")
