"""A player of one environment that records every call, and functions that play episodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from random import Random
from typing import Any, TypeVar

import gymnasium

from ragen_envs.core.text_game import Info, ResetOptions
from ragen_envs.testing.episodes import PlayedEpisode, PlayedStep, freeze
from ragen_envs.testing.failure import (
    CheckFailed,
    CheckSkipped,
    EnvironmentRaised,
    fail,
    quote,
)
from ragen_envs.testing.global_random import make_state, on_stage
from ragen_envs.testing.subject import AnyEnv, Factory, Subject, make

T = TypeVar("T")
MAKING = "make_env()"
"""Name of the call that makes the environment."""


class Player:
    """One environment whose calls are recorded and have their own global random state.

    The generators of `random` and `numpy.random` are set to a fixed state when the environment is
    made and at each reset. That state is kept from call to call and restored for all other code,
    so that a change to it affects only the checks that look for it.

    The generators are not isolated in calls from several threads. `info` is the environment's own
    object, `steps` the results since the last reset, and `writes` the calls that changed a global
    generator, with the generators' names.
    """

    def __init__(self, factory: Factory, globals_seed: int = 0, *, isolated: bool = True) -> None:
        self._first_globals = self._globals = make_state(globals_seed)
        self._isolated = isolated
        self.writes: list[tuple[str, tuple[str, ...]]] = []
        self.steps: list[PlayedStep] = []
        self.answers: list[str] = []
        self.info: Info = {}
        self.seed = 0
        self.options: ResetOptions | None = None
        self.env: AnyEnv = self.call(MAKING, lambda: make(factory))
        if not isinstance(self.env, gymnasium.Env):
            fail(
                f"make_env() gave a {type(self.env).__name__}",
                "the class does not inherit from gymnasium.Env, or the function forgets to return.",
                "class MyEnv(gymnasium.Env[str, str]), or an adapter of that kind around it.",
            )

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reset(self, seed: int, options: ResetOptions | None = None) -> PlayedStep:
        """Start an episode; CheckFailed unless the environment returns a str and a dict."""
        self._globals = self._first_globals
        self.seed, self.options = seed, options
        self.answers, self.steps = [], []
        arguments = {"seed": seed} if options is None else {"seed": seed, "options": options}
        what = f"reset({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"
        result = self.call(what, lambda: self.env.reset(**arguments))
        observation, info = _in_form(what, result, 2)
        return self._note_step(observation, 0.0, False, False, info)

    def step(self, answer: str) -> PlayedStep:
        """Take one response; CheckFailed unless it returns five values, from a str to a dict."""
        what = f"{self.at}: step({quote(answer)})"
        result = self.call(what, lambda: self.env.step(answer))
        self.answers.append(answer)
        return self._note_step(*_in_form(what, result, 5))

    def close(self) -> None:
        """Close the environment."""
        self.call("close()", self.env.close)

    def choose(self, subject: Subject, rng: Random) -> str:
        """Return a well-formed response for this turn."""
        what = f"{self.at}: the option 'answers'"
        return self.call(what, lambda: subject.answer(self.env, self.info, rng))

    @property
    def turn(self) -> int:
        """Number of turns since the last reset."""
        return len(self.answers)

    @property
    def at(self) -> str:
        """The current turn, for a message."""
        return f"seed {self.seed}, turn {self.turn + 1}"

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.steps[-1].ended

    @property
    def episode(self) -> PlayedEpisode:
        """The episode so far."""
        return PlayedEpisode(self.seed, self.options, tuple(self.answers), tuple(self.steps))

    def twin(self, copied: Callable[[AnyEnv], AnyEnv]) -> Player:
        """Return a player of a copy of the environment in its current state."""
        other = object.__new__(Player)
        other.__dict__.update(self.__dict__)
        what = f"seed {self.seed}, after turn {self.turn}: copying"
        other.env = self.call(what, lambda: copied(self.env))
        other.steps, other.answers, other.writes = [*self.steps], [*self.answers], []
        return other

    def call(self, what: str, function: Callable[[], T]) -> T:
        """Call a function under the environment's own global random state.

        EnvironmentRaised if the function raises an Exception or ends the process.
        """
        try:
            if not self._isolated:
                return function()
            with on_stage(self._globals) as after:
                try:
                    return function()
                finally:
                    left = after()
                    if changed := self._globals.changes(left):
                        self.writes.append((what, changed))
                    self._globals = left
        except (CheckFailed, CheckSkipped):
            raise
        except (Exception, SystemExit) as error:
            raise EnvironmentRaised(what, error) from error

    def _note_step(
        self, observation: str, reward: object, terminated: object, truncated: object, info: Info
    ) -> PlayedStep:
        parts = tuple(map(freeze, (observation, reward, terminated, truncated, info)))
        step = PlayedStep(observation, reward, terminated, truncated, dict(info), parts)
        self.info = info
        self.steps.append(step)
        return step


def _in_form(what: str, result: object, size: int) -> tuple[Any, ...]:
    mistake = "the signature of an older Gym, or a branch that returns early."
    values = "observation, " + ("" if size == 2 else "reward, terminated, truncated, ") + "info"
    if not isinstance(result, tuple) or len(result) != size:
        kind = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        fail(f"{what} returned {kind}, not {size}", mistake, f"return {values} on every path.")
    for value, type_ in ((result[0], str), (result[-1], dict)):
        if not isinstance(value, type_):
            fail(
                f"{what} returned a {type(value).__name__} where a {type_.__name__} is due",
                "an observation that is not rendered to text, or an info that is None.",
                "observations are str and infos are dict, on every path.",
            )
    return result


LONGEST = 100
"""Maximum turns of an episode without a stated limit."""


def turns_of(subject: Subject, env: AnyEnv) -> int | None:
    """Return the maximum turns of an episode, or None if it is unknown."""
    if subject.max_turns is not None:
        return subject.max_turns
    return env.spec.max_episode_steps if env.spec else None


def record(
    subject: Subject,
    seed: int,
    options: ResetOptions | None = None,
    choose: Callable[[Player], str] | None = None,
) -> PlayedEpisode:
    """Play an episode on a new environment; by default with well-formed random responses."""
    with Player(subject.make_env) as player:
        player.reset(seed, options)
        return finish(subject, player, choose)


def oracles(subject: Subject) -> tuple[Callable[[Player], str], ...]:
    """Return the subject's oracle as a function that chooses responses, if there is one."""
    oracle = subject.oracle
    if oracle is None:
        return ()
    return (
        lambda player: player.call(
            f"{player.at}: the option 'oracle'", partial(oracle, player.env)
        ),
    )


def finish(
    subject: Subject, player: Player, choose: Callable[[Player], str] | None = None
) -> PlayedEpisode:
    """Play until the episode ends or reaches the maximum turns."""
    rng = Random(f"answers {player.seed}")
    limit = turns_of(subject, player.env) or LONGEST
    while not player.ended and player.turn < limit:
        player.step(choose(player) if choose else player.choose(subject, rng))
    return player.episode


def replay(player: Player, episode: PlayedEpisode) -> PlayedEpisode:
    """Play the answers of an episode again, from its reset, as far as the episode lasts."""
    player.reset(episode.seed, episode.options)
    return follow(player, episode)


def follow(player: Player, episode: PlayedEpisode) -> PlayedEpisode:
    """Play the rest of the answers of an episode."""
    for answer in episode.answers[player.turn :]:
        if player.ended:
            break
        player.step(answer)
    return player.episode


def instance_of(subject: Subject, player: Player, seed: int) -> Hashable:
    """Reset, and return the canonical form of the instance; CheckSkipped without one."""
    player.reset(seed)
    what = f"seed {seed}: the option 'canonical'"
    return player.call(what, lambda: subject.instance(player.env, player.info))
