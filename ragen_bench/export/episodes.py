"""Sources of exported episodes: a run or the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Message, Sampling
from ragen_bench.models.prompt import conversation
from ragen_bench.models.scripted import OracleModel
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.suites import states_form
from ragen_envs.core.folders import check_new, replacing_folder
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import STOP, AnswerFormat

NO_EPISODES = UserError("the run has no finished episode to export", exit_code=1)
_HISTORY = "The model was shown the first observation, and of the later turns the last {history}."
_OPPONENT = "What the opponent read and replied is not told."


@dataclass(frozen=True)
class Source:
    """Episodes to export in order, with the settings of sampling and sentences about them.

    `has_estimates` returns whether the tokens of some responses are estimated. `has_opening` says
    whether the system message and the exchange that shows the format were sent.
    """

    model: str
    response_format: AnswerFormat
    split: Split
    episodes: Iterable[EpisodeRecord]
    settings: JsonObject
    notes: tuple[str, ...] = ()
    has_estimates: Callable[[], bool] = lambda: False
    has_opening: bool = True


def read_run_episodes(run: RunDirectory) -> Source:
    """Return the finished episodes of a run."""
    config = run.config
    settings = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "max_tokens": config.max_tokens,
        "seed": config.seed,
    }
    notes = [] if config.history is None else [_HISTORY.format(history=config.history)]
    notes += [_OPPONENT] if config.opponent else []
    return Source(
        *(config.model, config.response_format, config.split, run.episodes()),
        settings,
        tuple(notes),
        lambda: any(turn.tokens_estimated for one in run.episodes() for turn in one.turns),
    )


def play_oracle_episodes(instances: dict[str, int], response_format: AnswerFormat) -> Source:
    """Return the oracle's episodes on train instances from seed 0 on, as demonstrations.

    Think blocks of the format "think" are empty. In stochastic environments some episodes may fail;
    the column `success` shows which.
    """
    tasks = tasks_of(instances, "train", samples=1)
    sampling = Sampling(temperature=0.0, max_tokens=0, stop=STOP, seed=0)
    results = play(tasks, OracleModel(), sampling, response_format)
    episodes = (result.record for result in results if result.record)
    return Source("oracle", response_format, "train", episodes, {})


def build_conversation(episode: EpisodeRecord, response_format: AnswerFormat) -> list[Message]:
    """Return all messages of an episode, whatever history the model saw; empty without turns."""
    if not episode.turns:
        return []
    form = None if states_form(episode.env) else response_format
    observations = [turn.observation for turn in episode.turns]
    answers = [turn.answer for turn in episode.turns]
    messages = conversation(observations, answers[:-1], form)
    return [*messages, {"role": "assistant", "content": answers[-1]}]


@contextmanager
def new_export(directory: Path) -> Iterator[Path]:
    """Yield a draft of a new or empty directory, see `new_folder`; UserError for another one."""
    try:
        check_new(directory)
    except ValueError as error:
        raise UserError(str(error)) from error
    with replacing_folder(directory.resolve()) as draft:
        yield draft
