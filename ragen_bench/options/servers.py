"""How the models of an evaluation are reached, and who plays against whom."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models import ServerOptions
from ragen_bench.models.api.further import fields_of, header_of
from ragen_bench.models.api.options import OPPONENT_KEY, checked_url
from ragen_bench.models.registry import SERVED, refuse_unknown
from ragen_bench.opponents.opponent import Opponent
from ragen_bench.options.groups import EvaluationOptions
from ragen_bench.options.naming import IN_PROCESS
from ragen_envs.core.protocol import ResponseFormat

_FURTHER = ("header", "extra_body", "reasoning_effort")
"""Options of what is added to requests."""


def server_of(options: EvaluationOptions) -> ServerOptions | None:
    """Return how the model's server is reached; None if it has none and no option asks for one.

    Raises:
        UserError: for an option that neither the model nor its opponent takes.
    """
    settings = _settings(options)
    models = [name for name in (options.model, options.opponent) if name]
    taken = {name for model in models for name in _taken(model)}
    if options.opponent_base_url and not _is_served(options.model):
        taken -= {"base_url"}
    refused = [name for name in settings if name not in taken]
    if refused:
        names = ", ".join("--" + name.replace("_", "-") for name in refused)
        where = "openai/, anthropic/ and google/"
        if refused == ["concurrency"]:
            own = "vllm/, hf/, python:, smollm2-135m and demo-agent"
            where = f"openai/, anthropic/, google/, {own}"
        if refused == ["timeout"]:
            where = "openai/, anthropic/, google/ and python:"
        raise UserError(f"{names}: for {where} only, not for {' and '.join(map(repr, models))}")
    return _server_options(options.model, settings)


def opponent_of(options: EvaluationOptions, response_format: ResponseFormat) -> Opponent | None:
    """Return who plays against the model, None if nobody is named.

    Args:
        options: those whose `server_of` was asked for.
        response_format: of the opponent's answers.

    Raises:
        UserError: for an unknown model, one whose server is not named, or an option that is of no
            use without another.
    """
    name, url = options.opponent, options.opponent_base_url
    if name is None:
        for option, value in (("base-url", url), ("format", options.opponent_format)):
            if value is not None:
                raise UserError(f"--opponent-{option} goes with --opponent MODEL")
        return None
    # Empty is what an unset variable of a shell leaves; it must not mean that nobody plays.
    if "" in (name, url):
        raise UserError(
            f"--opponent{'-base-url' if name else ''} is empty; give it, or leave it out"
        )
    refuse_unknown(name)
    if url is not None and not _is_served(name):
        raise UserError(
            f"--opponent-base-url: for openai/, anthropic/ and google/ only, not for {name!r}"
        )
    settings = _settings(options)
    elsewhere = _is_served(options.model) and _provider(options.model) != _provider(name)
    if url is not None or elsewhere:
        # What is for one server is not for another, least of all its secrets.
        for option in ("base_url", *_FURTHER):
            settings.pop(option, None)
    if url is not None:
        settings |= {"base_url": url, "key_variable": OPPONENT_KEY}
    if _provider(name) == "openai":
        _check_url(settings.get("base_url"))
    return Opponent(name, response_format, _server_options(name, settings))


def _settings(options: EvaluationOptions) -> dict[str, Any]:
    """Return what the command line says of servers."""
    return {name: value for name, value in options.connection.items() if value not in (None, ())}


def _server_options(model: str, settings: Mapping[str, Any]) -> ServerOptions | None:
    taken = {name: value for name, value in settings.items() if name in _taken(model)}
    if not taken and not _is_served(model):
        return None
    headers, extra_body, effort = (taken.pop(name, None) for name in _FURTHER)
    return ServerOptions(
        **taken,
        headers=tuple(map(header_of, headers or ())),
        extra_body=fields_of(extra_body, effort),
    )


def _taken(model: str) -> tuple[str, ...]:
    """Return the options that say how a model is reached."""
    if _is_served(model):
        return ("base_url", "concurrency", "timeout", "retries", "key_variable", *_FURTHER)
    if model.startswith("python:"):
        return ("concurrency", "timeout")
    return ("concurrency",) if _provider(model) in IN_PROCESS else ()


def _provider(model: str) -> str:
    return model.partition("/")[0]


def _is_served(model: str) -> bool:
    return _provider(model) in SERVED


def _check_url(url: str | None) -> None:
    """Refuse an opponent whose server is not named, before the model is loaded."""
    try:
        checked_url(url or os.environ.get("OPENAI_BASE_URL"))
    except UserError as error:
        raise UserError(f"the opponent: {error}; --opponent-base-url is for it alone") from None
