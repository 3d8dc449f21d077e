"""Builds an evaluation from its options, and checks them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import attrgetter

from ragen_bench.environments import is_text_env
from ragen_bench.episodes.episode import SAMPLES_A_SEED
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements import read_draw_file
from ragen_bench.models import Isolation, ServerOptions
from ragen_bench.models.agents.sandbox import has_sealed_key
from ragen_bench.models.api.options import OPPONENT_KEY, check_url, make_extra_body, parse_header
from ragen_bench.models.prompt import History
from ragen_bench.models.provider import find_provider, prefixes_where
from ragen_bench.models.random_player import import_random_player
from ragen_bench.models.thinking_marks import parse_marks
from ragen_bench.opponents.opponent import Opponent
from ragen_bench.runs.schema import ON_ERROR
from ragen_bench.settings.options import EvaluationOptions
from ragen_bench.settings.run_names import DEFAULT_MAX_TOKENS
from ragen_bench.suites import (
    all_suites,
    find_choice,
    find_suite,
    plays,
    response_format_of,
    select,
    states_form,
)
from ragen_envs.core.instances import SPLITS, Split
from ragen_envs.core.protocol import ANSWER_FORMATS, AnswerFormat, ResponseFormat, written_form
from ragen_envs.making import board_ids
from ragen_envs.registration import IDS

_MAX = 10**9
"""Largest value of numbers without a limit of their own."""
_MAX_MEMORY = 1 << 20
"""GiB; more than any address space has."""
_MAX_TEMPERATURE = 100


def build_evaluation(options: EvaluationOptions, command: str = "") -> Evaluation:
    """Return the evaluation that options describe; an invalid one raises a UserError."""
    _check_values(options)
    opposed = options.opponent is not None
    instances = select(options.suite, options.env, options.limit, opposed)
    suite = "" if options.env else options.suite or "core"
    default = find_suite(suite).max_tokens if suite else DEFAULT_MAX_TOKENS
    if options.random_player is not None and all(map(is_text_env, instances)):
        raise UserError(
            "--random-player is for third-party environments that are not a TextEnv; remove "
            "it, since every TextEnv has a random player"
        )
    _check_scripted(options.model, instances, options.random_player is not None)
    response_format = _choose_format(options, instances)
    if options.constrain:
        _check_ability(options.model, "constrained", "--constrain")
    if options.top_p != 1:
        _check_ability(options.model, "top_p", "--top-p")
    if options.thinking_marks is not None:
        _check_ability(options.model, "marks", "--thinking-marks")
        parse_marks(options.thinking_marks)
    opponent_format = written_form(response_format)
    if options.opponent_format is not None:
        opponent_format = response_format_of(options.opponent_format)
    if options.pictures:
        _check_pictures(options, instances)
    split = find_choice("split", options.split, SPLITS)
    if options.draw is not None and split != "drawn":
        raise UserError(f"--draw goes with --split drawn, not with --split {split}")
    on_error = find_choice("--on-error", options.on_error, ON_ERROR)
    history, server = _parse_history(options.history), server_of(options)
    opponent, isolation = opponent_of(options, opponent_format), isolation_of(options, split)
    # Files and modules of the user last: a wrong option is reported before them.
    draw = None if options.draw is None else read_draw_file(options.draw)
    player = options.random_player
    random_player = None if player is None else import_random_player(player)
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
        history=history,
        constrain=options.constrain,
        command=command,
        server=server,
        opponent=opponent,
        top_p=options.top_p,
        random_player=random_player,
        isolation=isolation,
        draw=draw,
        pictures=options.pictures,
        on_error=on_error,
        thinking_marks=options.thinking_marks or "",
    )


def _check_scripted(model: str, envs: Iterable[str], random_player: bool) -> None:
    """Refuse a scripted player that has nothing to choose its actions from."""
    for env in envs:
        if not plays(model, env, random_player):
            lacks, instead = "has no oracle", "evaluate another model"
            if model == "random":
                lacks = "lists no legal actions"
                instead += ", or name a function with --random-player"
            raise UserError(f"{env} {lacks}, so `{model}` cannot play it; {instead}")


def _choose_format(options: EvaluationOptions, envs: Iterable[str]) -> AnswerFormat:
    """Return the response format: `--format`, or the environments' or the model's default."""
    with_format = [env for env in envs if states_form(env)]
    default = "plain" if with_format else find_provider(options.model).response_format or "think"
    chosen = find_choice("format", options.format or default, ANSWER_FORMATS)
    if with_format and (chosen != "plain" or options.constrain):
        option = "--constrain" if options.constrain else "--format"
        raise UserError(f"{with_format[0]} states its own response format; remove {option}")
    if chosen == "tools":
        _check_ability(options.model, "tools", "--format tools")
        if options.constrain:
            raise UserError(
                "--constrain cannot be combined with --format tools; remove one of them"
            )
    return chosen


def _check_pictures(options: EvaluationOptions, envs: Iterable[str]) -> None:
    """Refuse pictures of environments without a board, and for models that do not get them."""
    if without := [env for env in envs if env not in board_ids()]:
        raise UserError(
            f"{without[0]} has no board to show in --pictures; choose with --env from: "
            f"{', '.join(board_ids())}"
        )
    _check_ability(options.model, "pictures", "--pictures")
    if options.format == "tools":
        raise UserError(
            "--pictures cannot be combined with --format tools, since results of functions hold "
            "no pictures; remove one of them"
        )


def _check_ability(model: str, ability: str, option: str) -> None:
    """Refuse an option that needs an ability which the model's provider does not have."""
    if not getattr(find_provider(model), ability):
        others = prefixes_where(attrgetter(ability), "or")
        raise UserError(f"{option} does not work with {model}; remove it, or use {others}")


def _check_values(options: EvaluationOptions) -> None:
    for option, value, least, most in (
        ("--samples", options.samples, 1, SAMPLES_A_SEED),
        ("--seed", options.seed, 0, _MAX),
        ("--max-tokens", options.max_tokens, 1, _MAX),
        ("--concurrency", options.concurrency, 1, _MAX),
        ("--retries", options.retries, 0, _MAX),
        ("--memory", options.memory, 1, _MAX_MEMORY),
    ):
        if value is not None and value < least:
            raise UserError(f"{option} must be at least {least}, got {value}")
        if value is not None and value > most:
            raise UserError(f"{option} must be at most {most}, got {value}")
    if not 0 <= options.temperature <= _MAX_TEMPERATURE:
        raise UserError(
            f"--temperature must be between 0 and {_MAX_TEMPERATURE}, got {options.temperature}"
        )
    if not 0 < options.top_p <= 1:
        raise UserError(f"--top-p must be above 0 and at most 1, got {options.top_p}")
    if options.timeout is not None and not 0 < options.timeout < float("inf"):
        raise UserError(f"--timeout must be a number of seconds above 0, got {options.timeout}")
    # An unset shell variable leaves an empty value, which must not mean the default.
    if options.suite == "":
        raise UserError(f"--suite is empty; choose one of: {', '.join(all_suites())}")
    if options.base_url == "":
        raise UserError("--base-url is empty; give it, or leave it out for OPENAI_BASE_URL")
    if "" in options.env:
        raise UserError(f"--env is empty; choose one of: {', '.join(IDS)}")


def _parse_history(text: str) -> History:
    if text in ("full", "none"):
        return None if text == "full" else 0
    # A number of turns has fewer digits, and Python reads no int of thousands of digits.
    if text.isascii() and text.isdecimal() and len(text) < len(str(_MAX)):
        return int(text)
    raise UserError(f"--history must be full, none or a number of turns, got {text!r}")


_SECONDS = 600.0
"""Default time limit for a response of a sandboxed agent."""


def isolation_of(options: EvaluationOptions, split: Split) -> Isolation:
    """Return where the user's agents run; sandboxed wherever they could read a sealed key."""
    names = [name for name in (options.model, options.opponent) if name]
    has_agent = any(find_provider(name).user_code for name in names)
    if options.isolate and not has_agent:
        raise UserError(f"--isolate: for python: only, not for {' and '.join(map(repr, names))}")
    reason = ""
    if has_agent and split == "sealed":
        reason = "it plays sealed instances"
    elif has_agent and has_sealed_key():
        reason = "the environment names a sealed key"
    elif options.isolate:
        reason = "--isolate"
    if options.memory is not None and not reason:
        raise UserError("--memory goes with --isolate")
    if not reason:
        return Isolation(seconds=options.timeout)
    memory = options.memory or Isolation.memory
    return Isolation("sandbox", memory, options.timeout or _SECONDS, reason)


_REQUEST_ADDITIONS = ("header", "extra_body", "reasoning_effort")


def server_of(options: EvaluationOptions) -> ServerOptions | None:
    """Return the connection options of the model; None if it has no server and none was given."""
    settings = _read_options(options)
    models = [name for name in (options.model, options.opponent) if name]
    taken = {option for model in models for option in find_provider(model).options}
    if options.opponent_base_url and not find_provider(options.model).served:
        taken -= {"base_url"}
    if refused := [name for name in settings if name not in taken]:
        names = ", ".join("--" + name.replace("_", "-") for name in refused)
        option = refused[0] if len(refused) == 1 else "base_url"
        where = prefixes_where(lambda provider: option in provider.options, "and")
        raise UserError(f"{names}: for {where} only, not for {' and '.join(map(repr, models))}")
    return _server_options(options.model, settings)


def opponent_of(options: EvaluationOptions, response_format: ResponseFormat) -> Opponent | None:
    """Return the model's opponent; None if the options, which `server_of` accepts, name none."""
    name, url = options.opponent, options.opponent_base_url
    if name is None:
        for option, value in (
            ("base-url", url),
            ("format", options.opponent_format),
            ("thinking-marks", options.opponent_thinking_marks),
        ):
            if value is not None:
                raise UserError(f"--opponent-{option} goes with --opponent MODEL")
        return None
    # An unset variable of a shell leaves an empty text, which must not mean "no opponent".
    if "" in (name, url):
        raise UserError(
            f"--opponent{'-base-url' if name else ''} is empty; give it, or leave it out"
        )
    provider, player = find_provider(name), find_provider(options.model)
    if url is not None and not provider.served:
        served = prefixes_where(lambda provider: provider.served, "and")
        raise UserError(f"--opponent-base-url: for {served} only, not for {name!r}")
    if (marks := options.opponent_thinking_marks) is not None:
        _check_ability(name, "marks", "--opponent-thinking-marks")
        parse_marks(marks, "--opponent-thinking-marks")
    settings = _read_options(options)
    if url is not None or (player.served and player is not provider):
        # Settings of one server are not sent to another, secrets least of all.
        for option in ("base_url", *_REQUEST_ADDITIONS):
            settings.pop(option, None)
    if url is not None:
        settings |= {"base_url": url, "key_variable": OPPONENT_KEY}
    if provider.name == "openai":
        try:  # a missing server is refused before any model is loaded
            check_url(settings.get("base_url") or os.environ.get("OPENAI_BASE_URL"))
        except UserError as error:
            raise UserError(f"the opponent: {error}; --opponent-base-url is for it alone") from None
    return Opponent(name, response_format, _server_options(name, settings), marks or "")


def _read_options(options: EvaluationOptions) -> JsonObject:
    given = options.connection.items()
    return {n: value for n, value in given if value is not False and value not in (None, ())}


def _server_options(model: str, settings: JsonObject) -> ServerOptions | None:
    provider = find_provider(model)
    taken = {name: value for name, value in settings.items() if name in provider.options}
    if not taken and not provider.served:
        return None
    headers, extra_body, effort = (taken.pop(name, None) for name in _REQUEST_ADDITIONS)
    return ServerOptions(
        **taken,
        headers=tuple(map(parse_header, headers or ())),
        extra_body=make_extra_body(extra_body, effort),
    )
