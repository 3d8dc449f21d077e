"""A reward of the user's own: a function of an episode so far and its latest turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError, described
from ragen_bench.models.base import TurnId
from ragen_bench.runs.schema import TurnRecord
from ragen_bench.user_code import (
    find_sources,
    hash_with_imports,
    import_user_module,
    read_attribute,
)
from ragen_envs.core.protocol import AnswerFormat


@dataclass(frozen=True)
class PlayedTurn:
    """A turn that was played.

    Attributes:
        number: in its episode, from 0 on.
        observation: what the model read before it answered.
        answer: its whole answer.
        actions: the names of the actions in the answer, in order; empty if it is not in form.
        format_is_valid: whether the answer is in form.
        cut: whether the limit of tokens ended the answer.
        reward: the environment's, without shaping.
        terminated: whether the rules ended the episode in this turn.
        truncated: whether the budget ended it.
        info: what the environment's `step` returned as `info`, see docs/environments.md; a
            dictionary of its own, so changes have no effect.
    """

    number: int
    observation: str
    answer: str
    actions: tuple[str, ...]
    format_is_valid: bool
    cut: bool
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode as far as it was played.

    Attributes:
        environment: its id, such as "ragen/Sokoban-v0".
        instance: the number of the instance in the split.
        sample: which of the rollouts on the same instance, from 0 on.
        response_format: the form of answers.
        turns: all so far; the last one is the turn in question.
        observation: what the last turn led to.
    """

    environment: str
    instance: int
    sample: int
    response_format: AnswerFormat
    turns: tuple[PlayedTurn, ...]
    observation: str


class OwnReward:
    """A function that the user named, which is added to the reward of each turn of a rollout.

    Args:
        name: `MODULE:FUNCTION`; the working directory is searched too, after all else.

    Raises:
        UserError: if there is no such function.
    """

    def __init__(self, name: str) -> None:
        self._named = f"shaping.python={name}"
        module, _, function = name.partition(":")
        self._module = import_user_module(module, self._named, search_last=True)
        own = read_attribute(self._module, function, self._named)
        if not callable(own):
            raise UserError(f"{self._named} is not a function of an episode and a turn")
        self._function: Callable[[PlayedEpisode, PlayedTurn], object] = own

    def identity(self) -> dict[str, str]:
        """Return a hash of the user's own code, see `hash_with_imports`: a run has one all along.

        By then many modules may be loaded, other ones in each driver, so it depends on files alone.
        """
        return hash_with_imports(self._module)

    def of(self, episode: Episode) -> Callable[[TurnRecord], float]:
        """Return the function from a recorded turn to what it earns.

        Args:
            episode: whose turns these will be. The function is called after each of them, once and
                in order, and raises a UserError where the user's own fails.
        """
        turns: list[PlayedTurn] = []

        def earned(record: TurnRecord) -> float:
            turns.append(_turn(len(turns), record, episode.info))
            return self._called(_so_far(episode, turns), episode.task)

        return earned

    def _called(self, episode: PlayedEpisode, task: Task) -> float:
        turn = episode.turns[-1]
        where = str(TurnId(task.env, task.split, task.index, task.sample, turn.number))
        try:
            reward = self._function(episode, turn)
            number = float(reward) if isinstance(reward, Real) else None
        # The function is the user's own code: it may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            place = find_sources(self._module).locate(error)
            where = f"{place}; {where}" if place else where
            raise UserError(f"{self._named} raised {described(error)} ({where})", 1) from error
        if number is not None and math.isfinite(number):
            return number
        what = f"a {type(reward).__name__}" if number is None else number
        raise UserError(f"{self._named} returned {what}; a reward is a finite number ({where})", 1)


def _turn(number: int, record: TurnRecord, info: dict[str, Any]) -> PlayedTurn:
    return PlayedTurn(
        number=number,
        observation=record.observation,
        answer=record.answer,
        actions=tuple(record.actions),
        format_is_valid=bool(record.format_is_valid),
        cut=record.finish == "length",
        reward=record.reward,
        terminated=bool(record.terminated),
        truncated=bool(record.truncated),
        info=dict(info),
    )


def _so_far(episode: Episode, turns: list[PlayedTurn]) -> PlayedEpisode:
    task = episode.task
    return PlayedEpisode(
        environment=task.env,
        instance=task.index,
        sample=task.sample,
        response_format=episode.env.response_format,
        turns=tuple(turns),
        observation=episode.observation,
    )
