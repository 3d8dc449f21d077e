"""Connection options of an evaluation's models, and its opponent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models import ServerOptions, find_provider
from ragen_bench.models.api.options import OPPONENT_KEY, check_url, make_extra_body, parse_header
from ragen_bench.models.registry import prefixes_where
from ragen_bench.opponents.opponent import Opponent
from ragen_bench.settings.options import EvaluationOptions
from ragen_envs.core.protocol import ResponseFormat

_REQUEST_ADDITIONS = ("header", "extra_body", "reasoning_effort")


def server_of(options: EvaluationOptions) -> ServerOptions | None:
    """Return the connection options of the model; None if it has no server and none was given.

    Raises:
        UserError: An option applies neither to the model nor to its opponent.
    """
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
    """Return the model's opponent; None if the options name none.

    Args:
        options: Options that `server_of` has accepted.
        response_format: Format of the opponent's responses.

    Raises:
        UserError: The model is unknown, its server is not given, or an option lacks the one that
            it belongs to.
    """
    name, url = options.opponent, options.opponent_base_url
    if name is None:
        for option, value in (("base-url", url), ("format", options.opponent_format)):
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
    settings = _read_options(options)
    if url is not None or (player.served and player is not provider):
        # Settings of one server are not sent to another, secrets least of all.
        for option in ("base_url", *_REQUEST_ADDITIONS):
            settings.pop(option, None)
    if url is not None:
        settings |= {"base_url": url, "key_variable": OPPONENT_KEY}
    if provider.name == "openai":
        _check_url(settings.get("base_url"))
    return Opponent(name, response_format, _server_options(name, settings))


def _read_options(options: EvaluationOptions) -> dict[str, Any]:
    return {name: value for name, value in options.connection.items() if value not in (None, ())}


def _server_options(model: str, settings: Mapping[str, Any]) -> ServerOptions | None:
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


def _check_url(url: str | None) -> None:
    """Refuse a missing opponent's server before any model is loaded."""
    try:
        check_url(url or os.environ.get("OPENAI_BASE_URL"))
    except UserError as error:
        raise UserError(f"the opponent: {error}; --opponent-base-url is for it alone") from None
