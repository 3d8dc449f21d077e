"""A user's own reward: a function of the episode so far and its latest turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

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
from ragen_envs.core.text_game import Info


@dataclass(frozen=True)
class PlayedTurn:
    """A turn that was played.

    Attributes:
        number: Number of the turn in its episode, from 0.
        observation: The observation before the response.
        answer: The whole response.
        actions: Names of the response's actions, in order; empty if its format is invalid.
        format_is_valid: True if the response's format is valid.
        cut: True if the limit of tokens ended the response.
        reward: The environment's reward, without shaping.
        terminated: True if the rules ended the episode in this turn.
        truncated: True if the budget ended it.
        info: A copy of the `info` that the environment's `step` returned, see docs/environments.md.
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
    info: Info


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode so far.

    Attributes:
        environment: Id, such as "ragen/Sokoban-v0".
        instance: Number of the instance in the split.
        sample: Number of the rollout on this instance, from 0.
        response_format: Format of the responses.
        turns: All turns so far; the last one is rewarded.
        observation: The observation after the last turn.
    """

    environment: str
    instance: int
    sample: int
    response_format: AnswerFormat
    turns: tuple[PlayedTurn, ...]
    observation: str


class OwnReward:
    """A user's function whose result is added to the reward of each turn of a rollout.

    UserError if `MODULE:FUNCTION` does not exist; the working directory is searched too, after
    all else.
    """

    def __init__(self, name: str) -> None:
        self._setting = f"shaping.python={name}"
        module, _, function = name.partition(":")
        self._module = import_user_module(module, self._setting, search_last=True)
        own = read_attribute(self._module, function, self._setting)
        if not callable(own):
            raise UserError(f"{self._setting} is not a function of an episode and a turn")
        self._function: Callable[[PlayedEpisode, PlayedTurn], object] = own

    def identity(self) -> dict[str, str]:
        """Return a hash of the user's code, of files alone: drivers load different modules."""
        return hash_with_imports(self._module)

    def for_episode(self, episode: Episode) -> Callable[[TurnRecord], float]:
        """Return the function from a recorded turn of a new episode to its reward.

        It must be called after each turn, once and in order. UserError if the user's
        function fails.
        """
        turns: list[PlayedTurn] = []
        task = episode.task

        def reward(record: TurnRecord) -> float:
            turn = PlayedTurn(
                number=len(turns),
                observation=record.observation,
                answer=record.answer,
                actions=tuple(record.actions),
                format_is_valid=bool(record.format_is_valid),
                cut=record.finish == "length",
                reward=record.reward,
                terminated=bool(record.terminated),
                truncated=bool(record.truncated),
                info=dict(episode.info),
            )
            turns.append(turn)
            so_far = PlayedEpisode(
                environment=task.env,
                instance=task.index,
                sample=task.sample,
                response_format=episode.env.response_format,
                turns=tuple(turns),
                observation=episode.observation,
            )
            return self._call(so_far, task)

        return reward

    def _call(self, episode: PlayedEpisode, task: Task) -> float:
        turn = episode.turns[-1]
        where = str(TurnId(task.env, task.split, task.index, task.sample, turn.number))
        try:
            result = self._function(episode, turn)
            number = float(result) if isinstance(result, Real) else None
        # The function is the user's own code: it may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            place = find_sources(self._module).locate(error)
            where = f"{place}; {where}" if place else where
            raise UserError(f"{self._setting} raised {described(error)} ({where})", 1) from error
        if number is not None and math.isfinite(number):
            return number
        what = f"a {type(result).__name__}" if number is None else number
        raise UserError(
            f"{self._setting} returned {what}; a reward is a finite number ({where})", 1
        )
