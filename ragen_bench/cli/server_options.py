"""How the models of a command are reached, and who plays against whom."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ragen_bench.cli.naming import IN_PROCESS
from ragen_bench.errors import UserError
from ragen_bench.models import ServerOptions
from ragen_bench.models.registry import refuse_unknown
from ragen_bench.models.server.options import OPPONENT_KEY, checked_url
from ragen_bench.opponents.opponent import Opponent
from ragen_envs.protocol import ResponseFormat

_NAMES = ("base_url", "concurrency", "timeout", "retries")
_SERVED = "openai"


def server_of(arguments: argparse.Namespace) -> ServerOptions | None:
    """Return how the model's server is reached; None if it has none and nothing was asked for.

    Raises:
        UserError: for an option that neither the model nor its opponent takes.
    """
    given = {name: value for name in _NAMES if (value := getattr(arguments, name)) is not None}
    takers = [name for name in (arguments.model, arguments.opponent) if name]
    taken = {name for model in takers for name in _taken(model)}
    if arguments.opponent_base_url and not _is_served(arguments.model):
        taken -= {"base_url"}
    refused = [name for name in given if name not in taken]
    if refused:
        options = ", ".join("--" + name.replace("_", "-") for name in refused)
        where = "openai/NAME"
        if refused == ["concurrency"]:
            where = "openai/, vllm/, hf/ and smollm2-135m"
        named = " and ".join(map(repr, takers))
        raise UserError(f"{options}: for {where} only, not for {named}")
    return _options(arguments.model, given)


def opponent_of(arguments: argparse.Namespace, response_format: ResponseFormat) -> Opponent | None:
    """Return who plays against the model, None if nobody is named.

    Args:
        arguments: of the command, whose `server_of` was asked for.
        response_format: of the opponent's answers.

    Raises:
        UserError: for an unknown model, one whose server is not named, or an option that has
            nothing to say.
    """
    name, url = arguments.opponent, arguments.opponent_base_url
    if name is None:
        for option in ("opponent_base_url", "opponent_format"):
            if getattr(arguments, option) is not None:
                raise UserError(f"--{option.replace('_', '-')} goes with --opponent MODEL")
        return None
    # Empty is what an unset variable of a shell leaves; it must not mean that nobody plays.
    if "" in (name, url):
        raise UserError(
            f"--opponent{'-base-url' if name else ''} is empty; give it, or leave it out"
        )
    refuse_unknown(name)
    if url is not None and not _is_served(name):
        raise UserError(f"--opponent-base-url: for openai/NAME only, not for {name!r}")
    given = {each: value for each in _NAMES if (value := getattr(arguments, each)) is not None}
    if url is not None:
        given |= {"base_url": url, "key_variable": OPPONENT_KEY}
    if _is_served(name):
        _check_url(given.get("base_url"))
    return Opponent(name, response_format, _options(name, given))


def _options(model: str, given: dict[str, Any]) -> ServerOptions | None:
    taken = {name: value for name, value in given.items() if name in _taken(model)}
    return ServerOptions(**taken) if taken or _is_served(model) else None


def _taken(model: str) -> tuple[str, ...]:
    """Return the options that say how a model is reached."""
    if _is_served(model):
        return (*_NAMES, "key_variable")
    return ("concurrency",) if model.partition("/")[0] in IN_PROCESS else ()


def _is_served(model: str) -> bool:
    return model.partition("/")[0] == _SERVED


def _check_url(url: str | None) -> None:
    """Refuse an opponent whose server is not named, before the model is loaded."""
    try:
        checked_url(url or os.environ.get("OPENAI_BASE_URL"))
    except UserError as error:
        raise UserError(f"the opponent: {error}; --opponent-base-url is for it alone") from None
