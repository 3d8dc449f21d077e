"""The options of an evaluation, with their defaults and their help on a command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from ragen_bench.command_line import Argument, Option
from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject

MODELS = "such as openai/NAME or hf/NAME-OR-DIR; `ragen-bench list` shows all forms"
"""Help of a model's name."""


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """Connection to a model's server, and additions to each request."""

    heading = "the server"

    base_url: Annotated[
        str | None, Option("URL", "server of the model (default of openai/: OPENAI_BASE_URL)")
    ] = None
    concurrency: Annotated[
        int | None, Option("N", "episodes at once (default: 8 for servers and python:)")
    ] = None
    timeout: Annotated[
        float | None,
        Option("S", "seconds for a response: servers, python: (default: 600; python: none)"),
    ] = None
    retries: Annotated[int | None, Option("N", "retries of a failed request (default: 7)")] = None
    header: Annotated[
        tuple[str, ...],
        Option("'NAME: VALUE'", "header of each request, not recorded; may be repeated"),
    ] = ()
    extra_body: Annotated[str | None, Option("JSON", "extra fields of each request, recorded")] = (
        None
    )
    reasoning_effort: Annotated[
        str | None, Option("LEVEL", "one of the server's levels, such as low")
    ] = None
    stream: Annotated[bool, Option(None, "ask the server for streamed replies")] = False

    @property
    def connection(self) -> JsonObject:
        """These options alone, by their names."""
        return {field.name: getattr(self, field.name) for field in fields(ConnectionOptions)}


@dataclass(frozen=True, kw_only=True)
class IsolationOptions:
    """Isolation of the user's own agents."""

    heading = "your own agent"

    isolate: Annotated[
        bool,
        Option(
            None, "run python: agents under bubblewrap without network and files (always on sealed)"
        ),
    ] = False
    memory: Annotated[
        int | None, Option("GIB", "address space of an isolated agent (default: 4)")
    ] = None


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """The model and the instances that it plays."""

    heading = "what to play"

    model: Annotated[str, Argument("MODEL", MODELS)]
    suite: Annotated[str | None, Option("NAME", "a named set of environments (default: core)")] = (
        None
    )
    env: Annotated[
        tuple[str, ...],
        Option("ID", "an environment, MODULE:ID for a third-party one; may be repeated"),
    ] = ()
    split: Annotated[str, Option("NAME", "train, val, test, sealed or drawn")] = "test"
    draw: Annotated[Path | None, Option("FILE", "the project's draw, for the drawn split")] = None
    limit: Annotated[int | None, Option("N", "at most N instances of each environment")] = None
    samples: Annotated[int, Option("K", "episodes per instance")] = 1
    pictures: Annotated[
        bool, Option(None, "show boards as pictures instead of text, to a vision model")
    ] = False
    random_player: Annotated[
        str | None,
        Option("NAME", "MODULE:FUNCTION, the random baseline of a third-party environment"),
    ] = None
    on_error: Annotated[
        str, Option("NAME", "episodes whose server failed: exclude, or fail to score them 0")
    ] = "exclude"


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How the model is asked, and how it answers."""

    heading = "how to sample"

    seed: Annotated[int, Option("N", "seed of sampling and noise")] = 0
    temperature: Annotated[float, Option("T", "sampling temperature; 0 is greedy")] = 0.5
    top_p: Annotated[float, Option("P", "nucleus sampling, where the model can")] = 1.0
    max_tokens: Annotated[int | None, Option("N", "tokens per response (default: the suite's)")] = (
        None
    )
    format: Annotated[
        str | None,
        Option("NAME", "think, answer, plain or tools (default: the model's own, else think)"),
    ] = None
    thinking_marks: Annotated[
        str | None,
        Option("NAME", "marks of its thoughts, or 'OPEN CLOSE' (default: its template's)"),
    ] = None
    history: Annotated[str, Option("N", "past turns in the prompt: full, none or a number")] = (
        "full"
    )
    constrain: Annotated[
        bool,
        Option(None, "constrain decoding to the format, where the engine can; the run is marked"),
    ] = False


@dataclass(frozen=True, kw_only=True)
class OpponentOptions:
    """The opponent, in games that need one."""

    heading = "the opponent"

    opponent: Annotated[str | None, Option("MODEL", "the opponent, in games that need one")] = None
    opponent_format: Annotated[
        str | None, Option("NAME", "format of the opponent (default: as --format)")
    ] = None
    opponent_thinking_marks: Annotated[
        str | None, Option("NAME", "marks of the opponent's thoughts (default: its template's)")
    ] = None
    opponent_base_url: Annotated[
        str | None, Option("URL", "server of the opponent (default: as --base-url)")
    ] = None


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(
    IsolationOptions, ConnectionOptions, OpponentOptions, SamplingOptions, PlayOptions
):
    """The settings of an evaluation."""


def parse_options(values: Mapping[str, object]) -> EvaluationOptions:
    """Return an evaluation's options from untyped values; UserError for a wrong type."""
    try:
        from pydantic import TypeAdapter, ValidationError
    except ImportError as missing:
        raise missing_extra(missing, "bench") from missing

    values = dict(values)
    for name in ("env", "header"):
        if name in values:
            several = values[name]
            if isinstance(several, str) or not isinstance(several, Iterable):
                several = (several,)
            values[name] = tuple(several)
    try:
        return TypeAdapter(EvaluationOptions).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise UserError(f"{name}: {first['msg']}, got {first['input']!r}") from None
