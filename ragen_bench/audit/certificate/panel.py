"""The panel: what scripted players score on the same episodes as the random player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from ragen_bench.audit.certificate.players import PLAYERS, Answerer, Turn
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
"""The chance, over all players of a panel, to find one above the floor that is not."""
FLOOR = "random"
"""The player whose score is the floor."""
_SCOUTED = 256
"""First turns in which listed actions are counted."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """What a player scored.

    Attributes:
        player: its name.
        score: its mean, from 0 to 1 between the ends of the range.
        interval: of the score, 95 %.
        higher, lower: episodes in which it counts as better, and as worse, than the floor.
        chance: of so many better ones for a player at the floor, by Holm for all of the panel.
        raised: episodes in which the environment raised an error, which score 0.
        error: the first of these errors.
    """

    player: str
    score: float
    interval: Interval
    higher: int = 0
    lower: int = 0
    chance: float = 1.0
    raised: int = 0
    error: str = ""

    @property
    def above(self) -> bool:
        """Whether it scores above the floor."""
        return self.chance < LEVEL


@dataclass(frozen=True)
class Panel:
    """What everybody scored.

    Attributes:
        episodes: of each player.
        floor: what the random player scored.
        rows: the players', in the order of `PLAYERS`.
        ceiling: the mean score of the best player, None where the environment states none.
        rewards: the least and the greatest reward of a step.
        reached: episodes in which the random player scored above 0.
    """

    episodes: int
    floor: Row
    rows: tuple[Row, ...]
    ceiling: float | None
    rewards: Interval
    reached: int

    def row(self, player: str) -> Row:
        """Return a player's row."""
        return next(row for row in self.rows if row.player == player)

    @property
    def idle(self) -> tuple[Row, ...]:
        """The rows of those who do not play."""
        return tuple(row for row in self.rows if not PLAYERS[row.player].plays)


@dataclass
class _Scores:
    """What a player got so far."""

    scores: list[float] = field(default_factory=list)
    raised: int = 0
    error: str = ""


def play_panel(subject: Subject, episodes: int, advance: Callable[[int], None]) -> Panel:
    """Play everybody on the seeds from 0 on, of the split "train" where there is one.

    Args:
        subject: the environment.
        episodes: of each player.
        advance: told of each seed that is played.

    Raises:
        UserError: if the environment cannot be made, or a score lies outside `score_range`.
    """
    return _Session(subject).panel(episodes, advance)


class _Session:
    """An environment, and what was seen of it."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._factory = subject.splits.get("train", subject.make_env)
        self._env = self._made()
        self._turns = turns_of(subject, self._env) or LONGEST
        self._rewards: list[float] = [float("inf"), float("-inf")]
        self._usual = self._most_listed()

    def panel(self, episodes: int, advance: Callable[[int], None]) -> Panel:
        found = {name: _Scores() for name in (FLOOR, *PLAYERS)}
        ceilings: list[float] = []
        for seed in range(episodes):
            # All players of an instance in a row, as games keep the instances they made last.
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

    def _made(self) -> AnyEnv:
        try:
            return make(self._factory)
        # The environment may be anybody's, and raise anything.
        except (Exception, SystemExit) as error:
            raise UserError(f"the environment cannot be made: {described(error)}", 1) from error

    def _most_listed(self) -> str:
        counts: Counter[str] = Counter()
        for seed in range(_SCOUTED):
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
        # The environment may be anybody's, and raise anything: that is a finding.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            scores.raised += 1
            scores.error = scores.error or f"seed {seed}: {described(error)}"
            score = 0.0
            self._env = self._made()
        scores.scores.append(score)

    def _score(self, name: str, seed: int) -> float:
        """Play an episode and return its score as a share of the range."""
        env = self._env
        answerer = self._random(seed) if name == FLOOR else PLAYERS[name].answer
        rng = Random(f"certificate {name} {seed}")
        observation, info = env.reset(seed=seed)
        steps = [PlayedStep(observation, 0.0, False, False, info, ())]
        given: list[tuple[str, float]] = []
        while not steps[-1].ended and len(given) < self._turns:
            answer = answerer(self._turn(steps, given, rng))
            result = env.step(answer)
            steps.append(PlayedStep(*result, ()))
            reward = float(result[1])
            given.append((answer, reward))
            self._rewards = [min(self._rewards[0], reward), max(self._rewards[1], reward)]
        answers = tuple(answer for answer, _ in given)
        return self._share(self._subject.score_of(PlayedEpisode(seed, None, answers, tuple(steps))))

    def _share(self, score: float) -> float:
        low, high = self._subject.score_range
        if not low - _ROUNDING <= score <= high + _ROUNDING:
            raise UserError(
                f"a score is {score:g}, outside {low:g} to {high:g}; give a "
                "ragen_envs.testing.Subject with score_range=(least, greatest): "
                "python:MODULE:SUBJECT"
            )
        return min(max((score - low) / (high - low), 0.0), 1.0)

    def _random(self, seed: int) -> Answerer:
        inner = self._env.unwrapped
        if isinstance(inner, TextEnv):
            stream = RandomStream("certificate", seed)
            return lambda _turn: random_answer(inner, stream)
        return lambda turn: turn.sample()

    def _turn(
        self, steps: Sequence[PlayedStep], given: list[tuple[str, float]], rng: Random
    ) -> Turn:
        info = steps[-1].info
        return Turn(
            steps[0].observation,
            steps[-1].observation,
            given,
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
            return self._share(self._subject.expected_score(self._env, info))
        except CheckSkipped:
            return None


def _rows(found: dict[str, _Scores]) -> tuple[Row, ...]:
    """Return the players' rows, their chances adjusted for one another."""
    counts = {
        name: count_higher_and_lower(found[name].scores, found[FLOOR].scores) for name in PLAYERS
    }
    chances = holm([mcnemar_p(*counts[name]) for name in PLAYERS])
    return tuple(
        _row(name, found[name], *counts[name], chance)
        for name, chance in zip(PLAYERS, chances, strict=True)
    )


def _row(player: str, found: _Scores, higher: int = 0, lower: int = 0, chance: float = 1.0) -> Row:
    interval = mean_interval([[score] for score in found.scores])
    return Row(
        player, mean(found.scores), interval, higher, lower, chance, found.raised, found.error
    )
