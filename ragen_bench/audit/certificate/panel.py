"""The panel: scores of the scripted players on the random player's instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from ragen_bench.audit.certificate.players import PLAYERS, Policy, Turn
from ragen_bench.errors import UserError, described
from ragen_bench.statistics import (
    Interval,
    count_higher_and_lower,
    holm,
    mcnemar_p,
    mean,
    mean_interval,
)
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tools import answer_with
from ragen_envs.testing import CheckFailed, CheckSkipped, PlayedEpisode, PlayedStep, Subject
from ragen_envs.testing.player import LONGEST, turns_of
from ragen_envs.testing.subject import AnyEnv, make

LEVEL = 0.001
"""Family-wise error rate of a panel's tests for scores above the floor."""
FLOOR = "random"
"""Name of the player whose score is the floor."""
_FIRST_TURNS = 256
"""Number of first turns in which legal actions are counted."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """Result of a player.

    Attributes:
        player: Name of the player.
        score: Mean score, scaled from the score range to [0, 1].
        interval: 95 % interval of the score.
        higher, lower: Numbers of episodes with a better and a worse score than the floor.
        p_value: McNemar's p-value for a score above the floor, adjusted by Holm over the panel.
        errors: Number of episodes in which the environment raised an error; they score 0.
        error: First of these errors.
    """

    player: str
    score: float
    interval: Interval
    higher: int = 0
    lower: int = 0
    p_value: float = 1.0
    errors: int = 0
    error: str = ""

    @property
    def is_above_floor(self) -> bool:
        """Whether the player scores significantly above the floor."""
        return self.p_value < LEVEL


@dataclass(frozen=True)
class Panel:
    """Results of all players.

    Attributes:
        episodes: Number of episodes of each player.
        floor: Result of the random player.
        rows: Results of the scripted players, in the order of `PLAYERS`.
        ceiling: Mean optimal score; None if the environment states none.
        rewards: Minimum and maximum reward of a step.
        scoring_episodes: Number of the random player's episodes with a score above 0.
    """

    episodes: int
    floor: Row
    rows: tuple[Row, ...]
    ceiling: float | None
    rewards: Interval
    scoring_episodes: int

    def row(self, player: str) -> Row:
        """Return the result of a player."""
        return next(row for row in self.rows if row.player == player)

    @property
    def idle(self) -> tuple[Row, ...]:
        """Results of the players that take no actions."""
        return tuple(row for row in self.rows if not PLAYERS[row.player].plays)


@dataclass
class _Scores:
    scores: list[float] = field(default_factory=list)
    errors: int = 0
    error: str = ""


def play_panel(subject: Subject, episodes: int, advance: Callable[[int], None]) -> Panel:
    """Let all players play the seeds from 0 on, in the train split if there is one.

    Args:
        subject: The environment.
        episodes: Number of episodes of each player.
        advance: Called with 1 after each seed.

    Raises:
        UserError: If the environment cannot be made, or a score is outside `score_range`.
    """
    return _Session(subject).panel(episodes, advance)


class _Session:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._factory = subject.splits.get("train", subject.make_env)
        self._env = self._make()
        self._turns = turns_of(subject, self._env) or LONGEST
        self._rewards: list[float] = [float("inf"), float("-inf")]
        self._usual = self._most_listed()

    def panel(self, episodes: int, advance: Callable[[int], None]) -> Panel:
        found = {name: _Scores() for name in (FLOOR, *PLAYERS)}
        ceilings: list[float] = []
        for seed in range(episodes):
            # All players of an instance in a row, as games cache their latest instances.
            for name, scores in found.items():
                self._play(name, seed, scores)
            if (ceiling := self._ceiling(seed)) is not None:
                ceilings.append(ceiling)
            advance(1)
        self._env.close()
        low, high = self._rewards
        return Panel(
            episodes,
            _row(FLOOR, found[FLOOR]),
            _rows(found),
            mean(ceilings) if len(ceilings) == episodes else None,
            (low, high) if low <= high else (0.0, 0.0),
            sum(score > 0 for score in found[FLOOR].scores),
        )

    def _make(self) -> AnyEnv:
        try:
            return make(self._factory)
        # Third-party code may raise any exception.
        except (Exception, SystemExit) as error:
            raise UserError(f"the environment cannot be made: {described(error)}", 1) from error

    def _most_listed(self) -> str:
        counts: Counter[str] = Counter()
        for seed in range(_FIRST_TURNS):
            try:
                _, info = self._env.reset(seed=seed)
                counts.update(self._names(info) or [self._sample(info, Random(seed))])
            except (Exception, SystemExit) as error:
                raise UserError(f"reset(seed={seed}) raised {described(error)}", 1) from error
        return counts.most_common(1)[0][0]

    def _play(self, name: str, seed: int, scores: _Scores) -> None:
        try:
            score = self._score(name, seed)
        except (CheckFailed, CheckSkipped) as error:
            raise UserError(str(error).partition("\n")[0], 1) from error
        except UserError:
            raise
        # Third-party code may raise any exception, which is counted.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            scores.errors += 1
            scores.error = scores.error or f"seed {seed}: {described(error)}"
            score = 0.0
            self._env = self._make()
        scores.scores.append(score)

    def _score(self, name: str, seed: int) -> float:
        """Play an episode and return its score, scaled to [0, 1]."""
        env = self._env
        policy = self._random(seed) if name == FLOOR else PLAYERS[name].answer
        rng = Random(f"certificate {name} {seed}")
        observation, info = env.reset(seed=seed)
        steps = [PlayedStep(observation, 0.0, False, False, info, ())]
        responses: list[tuple[str, float]] = []
        while not steps[-1].ended and len(responses) < self._turns:
            answer = policy(self._turn(steps, responses, rng))
            result = env.step(answer)
            steps.append(PlayedStep(*result, ()))
            reward = float(result[1])
            responses.append((answer, reward))
            self._rewards = [min(self._rewards[0], reward), max(self._rewards[1], reward)]
        answers = tuple(answer for answer, _ in responses)
        return self._scale(self._subject.score_of(PlayedEpisode(seed, None, answers, tuple(steps))))

    def _scale(self, score: float) -> float:
        low, high = self._subject.score_range
        if not low - _ROUNDING <= score <= high + _ROUNDING:
            raise UserError(
                f"a score is {score:g}, outside {low:g} to {high:g}; give a "
                "ragen_envs.testing.Subject with score_range=(least, greatest): "
                "python:MODULE:SUBJECT"
            )
        return min(max((score - low) / (high - low), 0.0), 1.0)

    def _random(self, seed: int) -> Policy:
        inner = self._env.unwrapped
        if isinstance(inner, TextEnv):
            stream = RandomStream("certificate", seed)
            return lambda _turn: random_answer(inner, stream)
        return lambda turn: turn.sample()

    def _turn(
        self, steps: Sequence[PlayedStep], responses: list[tuple[str, float]], rng: Random
    ) -> Turn:
        info = steps[-1].info
        return Turn(
            steps[0].observation,
            steps[-1].observation,
            responses,
            self._names(info),
            self._usual,
            self._say,
            partial(self._sample, info, rng),
            rng,
        )

    def _names(self, info: dict[str, Any]) -> Sequence[str]:
        inner = self._env.unwrapped
        if isinstance(inner, TextEnv):
            return inner.legal_actions
        answers = self._subject.answers
        if callable(answers):
            return ()
        return info.get(answers, ()) if isinstance(answers, str) else answers

    def _say(self, text: str) -> str:
        inner = self._env.unwrapped
        return answer_with(inner, [text]) if isinstance(inner, TextEnv) else text

    def _sample(self, info: dict[str, Any], rng: Random) -> str:
        return self._subject.answer(self._env, info, rng)

    def _ceiling(self, seed: int) -> float | None:
        if self._subject.oracle is None:
            return None
        try:
            _, info = self._env.reset(seed=seed)
            return self._scale(self._subject.expected_score(self._env, info))
        except CheckSkipped:
            return None


def _rows(found: dict[str, _Scores]) -> tuple[Row, ...]:
    """Return the players' results with adjusted p-values."""
    counts = {
        name: count_higher_and_lower(found[name].scores, found[FLOOR].scores) for name in PLAYERS
    }
    p_values = holm([mcnemar_p(*counts[name]) for name in PLAYERS])
    return tuple(
        _row(name, found[name], *counts[name], p_value)
        for name, p_value in zip(PLAYERS, p_values, strict=True)
    )


def _row(player: str, found: _Scores, higher: int = 0, lower: int = 0, p_value: float = 1.0) -> Row:
    interval = mean_interval([[score] for score in found.scores])
    return Row(
        player, mean(found.scores), interval, higher, lower, p_value, found.errors, found.error
    )
