"""The panel: the scores of scripted players that exploit an environment rather than play it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from ragen_bench.audit.certificate.scripted_players import PLAYERS, Policy, Turn
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
from ragen_envs.core.policies import blind_answer, random_answer
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.core.tools import answer_with
from ragen_envs.registration import find_blind_script
from ragen_envs.testing import CheckFailed, CheckSkipped, PlayedEpisode, PlayedStep, Subject
from ragen_envs.testing.player import LONGEST, turns_of
from ragen_envs.testing.subject import AnyEnv, make

LEVEL = 0.001
"""Family-wise error rate of a panel's tests for scores above the floor."""
FLOOR = "random"
"""Name of the player whose score is the floor."""
BLIND = "blind"
"""Name of the player of the blind script, which is fitted and therefore not one of the tested."""
_FIRST_TURNS = 256
"""Number of first turns in which legal actions are counted."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """Result of a player.

    The score is scaled from the score range to [0, 1], with its 95 % interval. `higher` and
    `lower` count episodes with a better and a worse score than the floor. The p-value is
    McNemar's for a score above the floor, adjusted by Holm over the panel. Episodes in which
    the environment raised an error score 0; `error` is the first of these errors.
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
    """Results of all players, `rows` in the order of `PLAYERS`.

    `ceiling` is the mean optimal score; None if the environment states none. `rewards` are the
    minimum and maximum reward of a step. `scoring_episodes` counts the random player's episodes
    with a score above 0. `blind` is the result of the blind script; None without one.
    """

    episodes: int
    floor: Row
    rows: tuple[Row, ...]
    ceiling: float | None
    rewards: Interval
    scoring_episodes: int
    blind: Row | None = None

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

    `advance` is called with 1 after each seed. A UserError says that the environment cannot be
    made, or that a score is outside `score_range`.
    """
    session = _Session(subject)
    names = (FLOOR, *PLAYERS, *([BLIND] if session.script else []))
    found = {name: _Scores() for name in names}
    ceilings: list[float] = []
    for seed in range(episodes):
        # All players of an instance in a row, as games cache their latest instances.
        for name, scores in found.items():
            session.play(name, seed, scores)
        if (ceiling := session.ceiling(seed)) is not None:
            ceilings.append(ceiling)
        advance(1)
    session.env.close()
    floor = found[FLOOR].scores
    counts = {name: count_higher_and_lower(found[name].scores, floor) for name in PLAYERS}
    p_values = holm([mcnemar_p(*counts[name]) for name in PLAYERS])
    low, high = session.rewards
    return Panel(
        episodes,
        _row(FLOOR, found[FLOOR]),
        tuple(
            _row(name, found[name], *counts[name], p_value)
            for name, p_value in zip(PLAYERS, p_values, strict=True)
        ),
        mean(ceilings) if len(ceilings) == episodes else None,
        (low, high) if low <= high else (0.0, 0.0),
        sum(score > 0 for score in floor),
        _row(BLIND, found[BLIND]) if session.script else None,
    )


class _Session:
    """One environment, made again after each error, in which all players play."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.env = self._make()
        place = subject.make_env
        self.script = find_blind_script(place) if isinstance(place, str) else None
        self._turns = turns_of(subject, self.env) or LONGEST
        self.rewards: list[float] = [float("inf"), float("-inf")]
        counts: Counter[str] = Counter()
        for seed in range(_FIRST_TURNS):
            try:
                _, info = self.env.reset(seed=seed)
                counts.update(self._names(info) or [subject.answer(self.env, info, Random(seed))])
            except (Exception, SystemExit) as error:
                raise UserError(f"reset(seed={seed}) raised {described(error)}", 1) from error
        self._usual = counts.most_common(1)[0][0]

    def _make(self) -> AnyEnv:
        try:
            return make(self._subject.splits.get("train", self._subject.make_env))
        # Third-party code may raise any exception.
        except (Exception, SystemExit) as error:
            raise UserError(f"the environment cannot be made: {described(error)}", 1) from error

    def play(self, name: str, seed: int, scores: _Scores) -> None:
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
            self.env = self._make()
        scores.scores.append(score)

    def _score(self, name: str, seed: int) -> float:
        """Play an episode and return its score, scaled to [0, 1]."""
        policy = self._find_policy(name, seed)
        rng = Random(f"certificate {name} {seed}")
        observation, info = self.env.reset(seed=seed)
        steps = [PlayedStep(observation, 0.0, False, False, info, ())]
        responses: list[tuple[str, float]] = []
        while not steps[-1].ended and len(responses) < self._turns:
            info = steps[-1].info
            turn = Turn(
                observation,
                steps[-1].observation,
                responses,
                self._names(info),
                self._usual,
                self._say,
                partial(self._subject.answer, self.env, info, rng),
                rng,
            )
            answer = policy(turn)
            result = self.env.step(answer)
            steps.append(PlayedStep(*result, ()))
            reward = float(result[1])
            responses.append((answer, reward))
            self.rewards = [min(self.rewards[0], reward), max(self.rewards[1], reward)]
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

    def _find_policy(self, name: str, seed: int) -> Policy:
        inner = self.env.unwrapped
        if name == BLIND and self.script and isinstance(inner, TextEnv):
            script = self.script
            return lambda turn: blind_answer(inner, script, len(turn.answers))
        if name != FLOOR:
            return PLAYERS[name].answer
        if isinstance(inner, TextEnv):
            stream = RandomStream("certificate", seed)
            return lambda _turn: random_answer(inner, stream)
        return lambda turn: turn.sample()

    def _names(self, info: Info) -> Sequence[str]:
        inner = self.env.unwrapped
        if isinstance(inner, TextEnv):
            return inner.legal_actions
        answers = self._subject.answers
        if callable(answers):
            return ()
        return info.get(answers, ()) if isinstance(answers, str) else answers

    def _say(self, text: str) -> str:
        inner = self.env.unwrapped
        return answer_with(inner, [text]) if isinstance(inner, TextEnv) else text

    def ceiling(self, seed: int) -> float | None:
        if self._subject.oracle is None:
            return None
        try:
            _, info = self.env.reset(seed=seed)
            return self._scale(self._subject.expected_score(self.env, info))
        except CheckSkipped:
            return None


def _row(player: str, found: _Scores, higher: int = 0, lower: int = 0, p_value: float = 1.0) -> Row:
    interval = mean_interval([[score] for score in found.scores])
    return Row(
        player, mean(found.scores), interval, higher, lower, p_value, found.errors, found.error
    )
