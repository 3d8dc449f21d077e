"""`ragen_bench.evaluate`: what the command `evaluate` does, as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import Console

from ragen_bench.console.evaluation import load_early, played
from ragen_bench.console.plain import PlainConsole
from ragen_bench.console.results import write_results
from ragen_bench.errors import UserError
from ragen_bench.finished import Run
from ragen_bench.models.api.further import without_headers
from ragen_bench.models.provider import Isolation
from ragen_bench.options.checked import options_of
from ragen_bench.options.evaluation import evaluation_of
from ragen_bench.options.groups import EvaluationOptions as Default
from ragen_bench.options.naming import default_path
from ragen_bench.own_modules import FUNCTION_NAMED, name_of
from ragen_bench.scores.cost import load_prices


def evaluate(  # noqa: PLR0913  # one for each option of the command
    model: str | Callable[..., Any],
    *,
    suite: str | None = Default.suite,
    env: str | Iterable[str] = Default.env,
    split: str = Default.split,
    draw: str | PathLike[str] | None = Default.draw,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    seed: int = Default.seed,
    temperature: float = Default.temperature,
    top_p: float = Default.top_p,
    max_tokens: int | None = Default.max_tokens,
    format: str | None = Default.format,
    history: str | int = Default.history,
    constrain: bool = Default.constrain,
    pictures: bool = Default.pictures,
    opponent: str | None = Default.opponent,
    opponent_format: str | None = Default.opponent_format,
    opponent_base_url: str | None = Default.opponent_base_url,
    random_player: str | Callable[..., str] | None = Default.random_player,
    base_url: str | None = Default.base_url,
    concurrency: int | None = Default.concurrency,
    timeout: float | None = Default.timeout,
    retries: int | None = Default.retries,
    header: str | Iterable[str] = Default.header,
    extra_body: str | None = Default.extra_body,
    reasoning_effort: str | None = Default.reasoning_effort,
    isolate: bool = Default.isolate,
    memory: int | None = Default.memory,
    prices: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Run:
    """Score a model on held-out instances; the same call goes on with an interrupted run.

    The arguments are the options of `ragen-bench evaluate`, see docs/harness.md, and give the same
    bytes as these.

    Args:
        model: its name, such as "hf/NAME"; or a function from a list of messages to an answer or
            a class, `async def` or not, that has a name at the top of its module.
        suite: "quick", "core", "core-2" or "full"; "core" without `env`.
        env: an environment's id, or several, in place of a suite; "MODULE:ID" imports the module.
        split: "train", "val", "test", "sealed" or "drawn".
        draw: the file with the project's draw, for the split "drawn".
        limit: instances of each environment at most; None for all.
        samples: episodes on each instance.
        seed: of sampling and noise.
        temperature: of sampling, 0 for greedy.
        top_p: the probability together of the tokens that are drawn from.
        max_tokens: in an answer; None for the suite's.
        format: of answers, "think", "answer" or "plain"; None for what the environments take.
        history: past turns that the model is shown: "full", "none" or a number.
        constrain: whether the engine lets only answers in form pass.
        pictures: whether boards are shown as pictures and not as text.
        opponent: the name of the model that plays against it, where a game needs one.
        opponent_format: of its answers; None for `format`.
        opponent_base_url: of its server; None for `base_url`.
        random_player: who gives the floor of another package's environment that lists no actions:
            "MODULE:FUNCTION" or a function, from the observations so far and a `random.Random` to
            an answer.
        base_url: of the server of "openai/NAME"; None for `OPENAI_BASE_URL`.
        concurrency: requests or conversations at once; None for the provider's own number.
        timeout: seconds for an answer of a server, or of an agent in a process of its own.
        retries: of a request that failed.
        header: "NAME: VALUE" of each request, or several; secret, not recorded.
        extra_body: further fields of each request, an object as JSON; recorded.
        reasoning_effort: as the server names it.
        isolate: whether an agent of your own runs under bubblewrap, as on the sealed split always.
        memory: GiB of an isolated agent's address space; None for 4.
        prices: the file that says what tokens cost; None for that of `RAGEN_PRICES`.
        out: the run directory; None for one below `runs/` that is named for the settings.
        progress: whether to show how far the run is and what is worth a note; False prints nothing.

    Returns:
        The run. It is not complete where a server left episodes unfinished.

    Raises:
        UserError: for what the command refuses too, in one line; what a server or one's own code
            did not answer ends the run, and finished episodes are kept.
        ragen_envs.core.sealed.SealedKeyError: if the split is sealed and there is no key.
    """
    given = {name: value for name, value in locals().items() if name in _NAMES}
    given["model"], given["history"] = _name_of(model), str(history)
    if callable(random_player):
        given["random_player"] = name_of(random_player, FUNCTION_NAMED)
    options = options_of(given)
    evaluation = evaluation_of(options, _call(options, out))
    if callable(model):
        evaluation = replace(evaluation, isolation=_in_process(evaluation.isolation, options.model))
    path, money = (
        Path(out or default_path(evaluation)),
        load_prices(Path(prices) if prices else None),
    )
    console = _console(progress)
    run = played(console, evaluation, load_early(console, evaluation, path), path)
    try:
        write_results(console, run, money)
    finally:
        run.unlock()
    return Run(path)


_NAMES = tuple(Default.__dataclass_fields__)


def _name_of(model: str | Callable[..., Any]) -> str:
    """Return a model's name: of a callable, that by which it can be found again."""
    if isinstance(model, str):
        return model
    instead = "a model's name, or a function or a class from the top of a module"
    return f"python:{name_of(model, instead)}"


def _in_process(isolation: Isolation, name: str) -> Isolation:
    """Return where a callable of this process runs: here, if it need not be isolated."""
    if isolation.level != "sandbox":
        return replace(isolation, level="none")
    if name.startswith("python:__main__:"):
        raise UserError(
            f"{name} is to be isolated ({isolation.reason}), and no other process can import "
            "what was typed or is in the script itself; put it into a module's file"
        )
    return isolation


def _call(options: Default, out: str | PathLike[str] | None) -> str:
    """Return the call for the record, without defaults and without secrets."""
    headers = tuple(without_headers(list(options.header), options.header))
    drawn = options.draw and str(options.draw)
    settings = {name: getattr(options, name) for name in _NAMES if name != "model"}
    shown = {**settings, "header": headers, "draw": drawn, "out": out and str(Path(out))}
    words = [repr(options.model)]
    words += [f"{name}={v!r}" for name, v in shown.items() if v != getattr(Default, name, None)]
    return f"ragen_bench.evaluate({', '.join(words)})"


def _console(progress: bool) -> Console:
    """Return where progress is shown."""
    if not progress:
        return Console(file=StringIO(), quiet=True, force_terminal=False, force_jupyter=False)
    # A notebook claims to be a terminal, and rich's own bars want more packages there.
    terminal = False if Console().is_jupyter else None
    return PlainConsole(force_terminal=terminal, force_jupyter=False)
