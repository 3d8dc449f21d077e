"""The Python API: `evaluate`, which does what the command of that name does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import StringIO
from os import PathLike
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ragen_bench.episodes.evaluation import Evaluation, play_run, refuse_early
from ragen_bench.errors import UserError
from ragen_bench.models import Model
from ragen_bench.models.api.options import hide_headers
from ragen_bench.models.human import HumanModel
from ragen_bench.opponents.opponent import load
from ragen_bench.pages.formats import short
from ragen_bench.people import is_human
from ragen_bench.run import Run
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.scores.cost import load_prices
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions as Default
from ragen_bench.settings.options import parse_options
from ragen_bench.settings.run_names import default_path
from ragen_bench.terminal.console import PlainConsole
from ragen_bench.terminal.progress import Pace, progress_without_bar, shorten_name
from ragen_bench.terminal.results import write_results
from ragen_bench.user_code import FUNCTION_FORMS, find_import_name

_WIDE = 110
"""Columns of a terminal that has room for the name of the environment next to the bar."""


def evaluate(  # noqa: PLR0913  # one for each option of the command
    model: str | Callable[..., object],
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
    thinking_marks: str | None = Default.thinking_marks,
    history: str | int = Default.history,
    constrain: bool = Default.constrain,
    pictures: bool = Default.pictures,
    on_error: str = Default.on_error,
    opponent: str | None = Default.opponent,
    opponent_format: str | None = Default.opponent_format,
    opponent_thinking_marks: str | None = Default.opponent_thinking_marks,
    opponent_base_url: str | None = Default.opponent_base_url,
    random_player: str | Callable[..., str] | None = Default.random_player,
    base_url: str | None = Default.base_url,
    concurrency: int | None = Default.concurrency,
    timeout: float | None = Default.timeout,
    retries: int | None = Default.retries,
    header: str | Iterable[str] = Default.header,
    extra_body: str | None = Default.extra_body,
    reasoning_effort: str | None = Default.reasoning_effort,
    stream: bool = Default.stream,
    isolate: bool = Default.isolate,
    memory: int | None = Default.memory,
    prices: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Run:
    """Score a model on held-out instances; the same call resumes an interrupted run.

    The arguments are the options of `ragen-bench evaluate`, see docs/harness.md, and give the same
    bytes.

    Args:
        model: Name of the model, such as "hf/NAME"; or a function from a list of messages to a
            response or an agent class, `async def` or not, at the top of its module.
        suite: "quick", "core", "core-2" or "full"; "core" without `env`.
        env: Id of an environment, or several, instead of a suite; "MODULE:ID" imports the module.
        split: "train", "val", "test", "sealed" or "drawn".
        draw: File of the project's draw, for the split "drawn".
        limit: Maximum number of instances per environment; None for all.
        samples: Episodes per instance.
        seed: Seed of sampling and noise.
        temperature: Sampling temperature, 0 for greedy.
        top_p: Probability mass of nucleus sampling.
        max_tokens: Tokens per response; None for the suite's limit.
        format: Response format, "think", "answer", "plain" or "tools"; None for the environments'
            default.
        thinking_marks: Marks of the model's thoughts, a name or "OPEN CLOSE"; None for those of its
            chat template.
        history: Past turns in the prompt: "full", "none" or a number.
        constrain: Constrain decoding to the format.
        pictures: Show boards as pictures instead of text.
        on_error: Episodes whose server failed: "exclude" plays them again, "fail" scores them 0.
        opponent: Name of the opponent model, where a game needs one.
        opponent_format: Response format of the opponent; None for `format`.
        opponent_thinking_marks: Marks of the opponent's thoughts; None for those of its template.
        opponent_base_url: URL of the opponent's server; None for `base_url`.
        random_player: Random baseline of a third-party environment that lists no actions:
            "MODULE:FUNCTION" or a function, from the observations so far and a `random.Random` to
            a response.
        base_url: URL of the server of "openai/NAME"; None for `OPENAI_BASE_URL`.
        concurrency: Requests or conversations in flight; None for the provider's default.
        timeout: Seconds for a response of a server, or of an agent in its own process.
        retries: Retries of a failed request.
        header: "NAME: VALUE" of each request, or several; not recorded.
        extra_body: Extra fields of each request, an object as JSON; recorded.
        reasoning_effort: One of the server's levels.
        stream: Ask the server for streamed replies.
        isolate: Run the user's own agent under bubblewrap, as always on the sealed split.
        memory: GiB of address space of an isolated agent; None for 4.
        prices: File with the prices of tokens; None for that of `RAGEN_PRICES`.
        out: Run directory; None for one below `runs/` that is named after the settings.
        progress: Show the progress and notes; False prints nothing.

    Returns:
        The run. It is incomplete if a server left episodes unfinished that are excluded.

    Raises:
        UserError: For everything that the command refuses, in one line; also if a server or the
            user's own code fails, which ends the run and keeps finished episodes.
        ragen_envs.core.sealed.SealedKeyError: If the split is sealed and its key is missing.
    """
    given = {name: value for name, value in locals().items() if name in _NAMES}
    given["history"] = str(history)
    if not isinstance(model, str):
        instead = "a model's name, or a function or a class from the top of a module"
        given["model"] = f"python:{find_import_name(model, instead)}"
    if callable(random_player):
        given["random_player"] = find_import_name(random_player, FUNCTION_FORMS)
    options = parse_options(given)
    evaluation = build_evaluation(options, _format_call(options, out))
    if callable(model):
        isolation = evaluation.isolation
        if isolation.level != "sandbox":
            evaluation = replace(evaluation, isolation=replace(isolation, level="none"))
        elif options.model.startswith("python:__main__:"):
            raise UserError(
                f"{options.model} is to be isolated ({isolation.reason}), but no other process can "
                "import it from the script or the session; put it into a module's file"
            )
    path = Path(out or default_path(evaluation))
    token_prices = load_prices(Path(prices) if prices else None)
    console = _make_console(progress)
    with play_missing(console, evaluation, load_model(console, evaluation, path), path) as run:
        write_results(console, run, token_prices)
    return Run(path)


def load_model(console: Console, evaluation: Evaluation, path: Path | None = None) -> Model:
    """Load the model of an evaluation and its opponent, once the run directory is checked.

    With a run directory, a person who would have to play it raises UserError.
    """
    if path and is_human(evaluation.model) and (path / "run.json").is_file():
        raise UserError(
            f"{evaluation.model} is a person, who has played {path}: `ragen-bench report {path}` "
            "shows the results, and the command that recorded it goes on"
        )
    if path:
        refuse_early(evaluation, path)
    with console.status(Text(f"Loading {evaluation.model} ...")):
        model = load(
            evaluation.model,
            evaluation.server,
            evaluation.opponent,
            evaluation.random_player,
            evaluation.isolation,
            evaluation.thinking_marks,
        )
    if path and isinstance(model, HumanModel):
        model.probe()
    return model


@contextmanager
def play_missing(
    console: Console, evaluation: Evaluation, model: Model, path: Path
) -> Iterator[RunDirectory]:
    """Play the missing episodes of a run with a progress bar, and yield the locked directory."""
    total = len(evaluation.tasks())
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        name = shorten_name(evaluation.model, console.width)
        task = bar.add_task(name, total=total, pace="")
        pace = Pace(total)
        print_line = partial(bar.console.print, soft_wrap=True)
        tick = progress_without_bar(console, total)

        def on_progress(episodes: int, responses: int, env: str, success: float | None) -> None:
            text = pace.describe(episodes, success) or f"{responses} responses"
            env_name = short(env) if console.width >= _WIDE else ""
            bar.update(task, completed=episodes, pace=f"{text} {env_name}")
            tick(episodes, responses, success)

        try:
            run = play_run(evaluation, model, path, on_progress, print_line)
        except Exception:
            bar.live.transient = True  # leave only the line of the error
            raise
    try:
        yield run
    finally:
        run.unlock()


_NAMES = tuple(Default.__dataclass_fields__)


def _format_call(options: Default, out: str | PathLike[str] | None) -> str:
    """Return the call for the record, without defaults and without secrets."""
    headers = tuple(hide_headers(list(options.header), options.header))
    draw = options.draw and str(options.draw)
    settings = {name: getattr(options, name) for name in _NAMES if name != "model"}
    recorded = {**settings, "header": headers, "draw": draw, "out": out and str(Path(out))}
    words = [repr(options.model)]
    words += [f"{name}={v!r}" for name, v in recorded.items() if v != getattr(Default, name, None)]
    return f"ragen_bench.evaluate({', '.join(words)})"


def _make_console(progress: bool) -> Console:
    if not progress:
        return PlainConsole(file=StringIO(), quiet=True, force_terminal=False, force_jupyter=False)
    # A notebook claims to be a terminal, and rich's own bars need more packages there.
    terminal = False if PlainConsole().is_jupyter else None
    return PlainConsole(force_terminal=terminal, force_jupyter=False)
