"""The episodes that are exported, those of a run or of the oracle, and the folder they go to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models.base import Message, Sampling
from ragen_bench.models.prompt import conversation, opening
from ragen_bench.models.scripted import OracleModel
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord, Object
from ragen_bench.suites import states_form
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import STOP, AnswerFormat

NOTHING = UserError("there is no finished episode to export", exit_code=1)
_HISTORY = "The model was shown the first observation, and of the later turns the last {history}."
_OPPONENT = "What the opponent read and replied is not told."


@dataclass(frozen=True)
class Source:
    """What is exported.

    Attributes:
        model: who played.
        response_format: of the answers.
        split: of the instances.
        episodes: in their order.
        settings: of the model and its sampling, as far as they are known.
        notes: what there is to know of the episodes.
    """

    model: str
    response_format: AnswerFormat
    split: Split
    episodes: Iterable[EpisodeRecord]
    settings: Object
    notes: tuple[str, ...] = ()


def of_run(run: RunDirectory) -> Source:
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
    )


def of_oracle(instances: dict[str, int], response_format: AnswerFormat) -> Source:
    """Return episodes of the oracle on train instances, as demonstrations.

    It has no thoughts: in the form "think" its think blocks are empty. Where the noise can defeat
    the best player, failed episodes are among them; `success` tells.

    Args:
        instances: how many of each environment, from seed 0 on.
        response_format: the form of the answers.
    """
    tasks = tasks_of(instances, "train", samples=1)
    sampling = Sampling(temperature=0.0, max_tokens=0, stop=STOP, seed=0)
    played = play(tasks, OracleModel(), sampling, response_format)
    episodes = (ended.record for ended in played if ended.record)
    return Source("oracle", response_format, "train", episodes, {})


def shown_before(episode: EpisodeRecord, response_format: AnswerFormat) -> list[Message]:
    """Return what the model was shown before the first observation, as `opening` does.

    Args:
        episode: of any environment.
        response_format: of the run; another package's environment states a form of its own.
    """
    return opening(None if states_form(episode.env) else response_format)


def whole_conversation(episode: EpisodeRecord, response_format: AnswerFormat) -> list[Message]:
    """Return an episode's messages, from the system's to the last answer; none without a turn.

    Args:
        episode: that is told, with all its turns, also where a model was shown some of them only.
        response_format: of the run; another package's environment states a form of its own.
    """
    if not episode.turns:
        return []
    form = None if states_form(episode.env) else response_format
    observations = [turn.observation for turn in episode.turns]
    answers = [turn.answer for turn in episode.turns]
    messages = conversation(observations, answers[:-1], form)
    return [*messages, {"role": "assistant", "content": answers[-1]}]


def encodable(value: Any) -> Any:
    """Replace lone surrogates, which answers may hold and UTF-8 cannot, by "?"."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        return {name: encodable(item) for name, item in value.items()}
    return value


def check_new(directory: Path) -> None:
    """Check that a directory is new or empty.

    Raises:
        UserError: if it is not.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(f"{directory} is there already and not an empty directory; choose another")
