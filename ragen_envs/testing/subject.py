"""The environment under test, with the facts that its author states."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

import gymnasium
from gymnasium.envs.registration import find_highest_version, parse_env_id

from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info, ResetOptions
from ragen_envs.registration import register_third_party_games
from ragen_envs.testing.episodes import PlayedEpisode
from ragen_envs.testing.failure import described, fail, lacks
from ragen_envs.testing.options import BUILDS_ON, require

AnyEnv = gymnasium.Env[Any, Any]
Factory = str | Callable[[], AnyEnv]
LEGAL_ACTIONS = "legal_actions"
"""Default key of `info` for well-formed responses."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An environment under test, and the facts that its author states.

    Only `make_env` is needed. A check that lacks an option is skipped and names it. Keys are looked
    up in `info`. Functions get the environment as `make_env` made it, so your own attributes are
    in `env.unwrapped`.

    Attributes:
        make_env: Id of Gymnasium's registry, such as "my_pkg:my/Env-v0", or a function or class
            that makes a new environment when called without arguments.
        answers: Well-formed responses: a key of `info` with a sequence of them, a sequence, or a
            function of the environment and a `random.Random`. If `info` lacks "legal_actions" or a
            sequence is empty, the action space is sampled.
        splits: Name of a split -> id or callable that makes its environment, as for `make_env`.
        canonical: Canonical form of the instance after a reset, equal for equal instances: a key of
            `info`, or a function of the environment that returns a hashable.
        held_out: Name of a split -> number of its instances, enumerated by the seeds 0, 1, ...
        split_seeds: Number of seeds to check in a split that is not in `held_out`.
        noise_options: Maps an int to `options` of `reset` that change the noise and nothing else.
        stochastic: Equal responses to equal instances may have different results.
        oracle: Best player: maps the environment to its response in this turn.
        ceiling: Expected score of the oracle on the instance: a number, a key of `info` at reset,
            or a function of the environment.
        score: Score of an episode: a key of the last `info`, or a function of the
            `PlayedEpisode`. If `info` lacks the key, it is the sum of rewards.
        score_range: Minimum and maximum score, for stochastic environments.
        oracle_episodes: Number of episodes of the oracle in stochastic environments.
        success: Key of `info` for the success of an episode.
        seeds: Seeds to play, at least one.
        max_turns: Maximum turns of every episode; by default `spec.max_episode_steps`.
        skip: Names of checks to leave out.

    Raises:
        TypeError: An option of another type than it takes.
        ValueError: One that is out of its range, a held-out split that `splits` lacks, or an
            unknown name in `skip`.
    """

    make_env: Factory
    answers: str | Sequence[str] | Callable[[AnyEnv, Random], str] = LEGAL_ACTIONS
    splits: Mapping[str, Factory] = field(default_factory=dict)
    canonical: str | Callable[[AnyEnv], Hashable] = "instance"
    held_out: Mapping[str, int] = field(default_factory=dict)
    split_seeds: int = 64
    noise_options: Callable[[int], ResetOptions] | None = None
    stochastic: bool = False
    oracle: Callable[[AnyEnv], str] | None = None
    ceiling: float | str | Callable[[AnyEnv], float] = "ceiling"
    score: str | Callable[[PlayedEpisode], float] = "score"
    score_range: tuple[float, float] = (0.0, 1.0)
    oracle_episodes: int = 400
    success: str = "success"
    seeds: Sequence[int] = tuple(range(16))
    max_turns: int | None = None
    skip: Collection[str] = ()

    def __post_init__(self) -> None:
        for option in dataclasses.fields(self):
            require(option.name, getattr(self, option.name))
        if unknown := [name for name in self.held_out if name not in self.splits]:
            raise ValueError(f"held_out names {unknown}, which splits does not")
        if unknown := sorted(set(self.skip) - set(BUILDS_ON)):
            raise ValueError(f"skip names unknown checks {unknown}; choose from {list(BUILDS_ON)}")

    def answer(self, env: AnyEnv, info: Info, rng: Random) -> str:
        """Return a random well-formed response for this turn."""
        answer = self._answer(env, info, rng)
        if not isinstance(answer, str):
            fail(
                f"{answer!r}, an answer in form, is a {type(answer).__name__} and not a str",
                "the action space or info['legal_actions'] is that of the game's moves, not of "
                "texts.",
                "take str in step, declare a Text action space, and set the option 'answers'.",
            )
        return answer

    def _answer(self, env: AnyEnv, info: Info, rng: Random) -> object:
        if callable(self.answers):
            return self.answers(env, rng)
        if not isinstance(self.answers, str):
            return rng.choice(list(self.answers))
        if self.answers not in info and self.answers != LEGAL_ACTIONS:
            fail(
                f"info has no key {self.answers!r}, which the option 'answers' names",
                "an answer was given in the place of the key of info that has the answers.",
                f"answers=[{self.answers!r}] if that is an answer, else a key of every info.",
            )
        legal = info.get(self.answers, ())
        if isinstance(legal, str) or not isinstance(legal, Sequence):
            fail(
                f"info[{self.answers!r}] is a {type(legal).__name__}, not a sequence of str",
                "the legal actions are written as one text, an array or a set.",
                "report a tuple of answers, or set the option 'answers'.",
            )
        return rng.choice(legal) if legal else sample_action(env, rng)

    def tells_answers(self, info: Info) -> bool:
        """Whether the options or an `info` list well-formed responses."""
        return not isinstance(self.answers, str) or bool(info.get(self.answers))

    def instance(self, env: AnyEnv, info: Info) -> Hashable:
        """Return the canonical form of the instance that was just reset; skip without one."""
        if callable(self.canonical):
            return _hashable(self.canonical(env), "the option 'canonical' gave")
        if self.canonical not in info:
            lacks("canonical", f"info has no key {self.canonical!r} that tells instances apart")
        return _hashable(info[self.canonical], f"info[{self.canonical!r}] is")

    def expected_score(self, env: AnyEnv, info: Info) -> float:
        """Return the oracle's stated expected score on the instance that was just reset."""
        if callable(self.ceiling):
            return float(self.ceiling(env))
        if not isinstance(self.ceiling, str):
            return float(self.ceiling)
        inner = env.unwrapped
        if self.ceiling not in info and isinstance(inner, TextEnv):
            info = inner.compute_oracle_info(inner.instance)  # which a train reset may leave out
        if self.ceiling not in info:
            lacks("ceiling", f"info has no key {self.ceiling!r} with the best expected score")
        return float(info[self.ceiling])

    def score_of(self, episode: PlayedEpisode) -> float:
        """Return the score of an episode."""
        if callable(self.score):
            return float(self.score(episode))
        last = episode.steps[-1].info
        if self.score in last:
            return float(last[self.score])
        return sum_in_order(step.reward for step in episode.steps[1:])


def _hashable(instance: object, seen: str) -> Hashable:
    try:
        hash(instance)
    except TypeError as error:
        fail(
            f"{seen} a {type(instance).__name__}: {error}",
            "a list, an array or a dict, which compares by what it holds and cannot be looked up.",
            "a str, or tuples of what is in it: the option 'canonical', as "
            "lambda env: tuple(env.unwrapped.level).",
        )
    return instance


def subject_of(env: Factory | Subject, **options: Any) -> Subject:
    """Return the subject of an id, a callable or a `Subject`, with options."""
    known = [f.name for f in dataclasses.fields(Subject)]
    if unknown := sorted(set(options) - set(known)):
        raise TypeError(f"unknown options {unknown}; choose from {known[1:]}")
    if isinstance(env, Subject):
        return dataclasses.replace(env, **options) if options else env
    return Subject(make_env=env, **options)


def sample_action(env: AnyEnv, rng: Random) -> object:
    """Return a sample of the action space, without a change to its generator."""
    space = copy.deepcopy(env.action_space)
    space.seed(rng.getrandbits(32))
    return space.sample()


def make(factory: Factory) -> AnyEnv:
    """Return a new environment; one with an id has Gymnasium's wrappers, less its checker."""
    if isinstance(factory, str):
        return gymnasium.make(factory, disable_env_checker=True)
    return factory()


def portable(factory: Factory) -> Factory | Callable[[], AnyEnv]:
    """Return a factory that works in a process where the id was not registered.

    The id's module, if it names one, was imported when the environment was made here.
    """
    if not isinstance(factory, str):
        return factory
    spec = gymnasium.spec(factory.rpartition(":")[2])
    return lambda: gymnasium.make(spec, disable_env_checker=True)


def require_ids(subject: Subject) -> None:
    """Import the modules that the subject's ids name, and look the ids up, or raise ValueError."""
    factories = {"make_env": subject.make_env}
    factories |= {f"splits[{split!r}]": make for split, make in subject.splits.items()}
    for option, factory in factories.items():
        if isinstance(factory, str):
            _require(option, factory)


def _require(option: str, named: str) -> None:
    module, _, env_id = named.rpartition(":")
    if module and not _is_there(module):
        raise ValueError(
            f"{option} is {named!r}, and there is no module {module!r} to import: before the colon "
            "stands the module that registers the id, as in 'my_pkg:my/Env-v0'"
        )
    try:
        if module:
            import_module(module)
        elif env_id not in gymnasium.registry:
            register_third_party_games()
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"{option} is {named!r}, and importing {module!r} raised {described(error)}"
        ) from error
    try:
        namespace, name, version = parse_env_id(env_id)
        if version is None and find_highest_version(namespace, name) is not None:
            return  # Gymnasium takes the latest
        gymnasium.spec(env_id)
    except gymnasium.error.Error as error:
        also = "" if module else f"; 'MODULE:{env_id}' imports the module that registers it first"
        text = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{option} is {named!r}: {text}{also}") from None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # a parent is missing, or the name is not a module's
        return False
