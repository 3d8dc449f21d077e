"""The options of an evaluation, with their defaults, and how they look on a command line."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from ragen_bench.options.looks import Argument, Option

MODELS = "such as openai/NAME or hf/NAME-OR-DIR; `ragen-bench list` shows all forms"
"""Help of a model's name."""


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """How a model's server is reached, and what is added to each request."""

    base_url: Annotated[
        str | None, Option("URL", "of the model's server (default of openai/: OPENAI_BASE_URL)")
    ] = None
    concurrency: Annotated[
        int | None, Option("N", "episodes at once (default: 8 for servers and python:)")
    ] = None
    timeout: Annotated[
        float | None,
        Option("S", "seconds for an answer: servers, python: (default: 600; python: none)"),
    ] = None
    retries: Annotated[int | None, Option("N", "of a request that failed (default: 7)")] = None
    header: Annotated[
        tuple[str, ...], Option("'NAME: VALUE'", "of each request; secret; may be repeated")
    ] = ()
    extra_body: Annotated[
        str | None, Option("JSON", "further fields of each request; recorded")
    ] = None
    reasoning_effort: Annotated[
        str | None, Option("LEVEL", "as the server names it, such as low")
    ] = None

    @property
    def connection(self) -> dict[str, Any]:
        """These options alone, by their names."""
        return {field.name: getattr(self, field.name) for field in fields(ConnectionOptions)}


@dataclass(frozen=True, kw_only=True)
class IsolationOptions:
    """What an agent of the user's own may touch."""

    isolate: Annotated[
        bool,
        Option(None, "run python: under bubblewrap, without network and files; as sealed does"),
    ] = False
    memory: Annotated[
        int | None, Option("GIB", "of an isolated agent's address space (default: 4)")
    ] = None


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(IsolationOptions, ConnectionOptions):
    """What is evaluated, and how."""

    model: Annotated[str, Argument("MODEL", MODELS)]
    suite: Annotated[str | None, Option("NAME", "a named set of environments (default: core)")] = (
        None
    )
    env: Annotated[
        tuple[str, ...],
        Option("ID", "an environment, MODULE:ID if it is another package's; may be repeated"),
    ] = ()
    split: Annotated[str, Option("NAME", "train, val, test, sealed or drawn")] = "test"
    draw: Annotated[Path | None, Option("FILE", "of the drawn split: the project's draw")] = None
    limit: Annotated[int | None, Option("N", "at most N instances of each environment")] = None
    samples: Annotated[int, Option("K", "episodes an instance")] = 1
    seed: Annotated[int, Option("N", "of sampling and noise")] = 0
    temperature: Annotated[float, Option("T", "of sampling; 0 is greedy")] = 0.5
    top_p: Annotated[
        float, Option("P", "draw from the likeliest tokens only, where the model can")
    ] = 1.0
    max_tokens: Annotated[int | None, Option("N", "tokens in an answer (default: the suite's)")] = (
        None
    )
    format: Annotated[
        str | None,
        Option("NAME", "think, answer, plain or tools (default: the model's own, else think)"),
    ] = None
    history: Annotated[str, Option("N", "past turns shown: full, none or a number")] = "full"
    constrain: Annotated[
        bool,
        Option(None, "let only answers in form pass, where the engine can; the run is marked"),
    ] = False
    pictures: Annotated[
        bool,
        Option(None, "show boards as pictures and not as text, to a model that sees"),
    ] = False
    opponent: Annotated[
        str | None, Option("MODEL", "who plays against it, in games that need one")
    ] = None
    opponent_format: Annotated[
        str | None, Option("NAME", "of its answers (default: as --format)")
    ] = None
    opponent_base_url: Annotated[
        str | None, Option("URL", "of the opponent's server (default: as --base-url)")
    ] = None
    random_player: Annotated[
        str | None,
        Option("NAME", "MODULE:FUNCTION, who gives the floor of another package's environment"),
    ] = None
