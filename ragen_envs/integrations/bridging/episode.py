"""An environment by its id, played as text, with what another project may be told of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.error import ResetNeeded

from ragen_envs.core.instances import Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging.task import Task

WHILE_RUNNING = (
    "format_is_valid",
    "action_is_valid",
    "action_is_effective",
    "legal_actions",
    "turn",
    "actions_left",
)
"""The keys of `info` that a player may know in the middle of an episode."""
AT_THE_END = ("success", "is_success", "score")
"""Those that are told when it is over; before, they might tell which answer is right."""


class Turn(NamedTuple):
    """What one answer led to.

    Attributes:
        observation: the text that the player reads next.
        reward: of this answer.
        terminated: whether the rules ended the episode.
        truncated: whether its budget did.
        info: what may be told: `WHILE_RUNNING`, and at the end `AT_THE_END`, as far as they exist.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Episode:
    """One environment, one episode at a time; answers are whole texts, as a model gives them.

    Args:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        split: where instances come from.
        response_format: the form of the answers.
        options: further arguments of the environment.

    Attributes:
        env: the environment that Gymnasium made.
        task: that of the present episode; None before the first `reset`.
        turns: of the present episode, so far.

    Raises:
        ValueError: for an id that nothing registers, an argument that the environment does not
            take, or one that it refuses; with what to do.
    """

    def __init__(
        self,
        env: str,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        **options: Any,
    ) -> None:
        self._arguments = (env, split, response_format)
        self._info: Mapping[str, Any] = {}
        self.env = _made(env, split, response_format, options)
        self.task: Task | None = None
        self.turns: list[Turn] = []

    def reset(self, seed: int, noise_seed: int = 0) -> str:
        """Begin an episode, and return its first observation.

        Args:
            seed: which instance of the split, from 0 on.
            noise_seed: which noise. An environment of another package is asked with the option
                `noise_seed` for all but 0.

        Raises:
            ValueError: for a seed or noise seed that is not such a number, or an environment whose
                observation is no text. The episode before goes on.
        """
        for name, value in (("seed", seed), ("noise_seed", noise_seed)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} is an int of at least 0, got {value!r}")
        env, split, response_format = self._arguments
        own = isinstance(self.env.unwrapped, TextEnv)
        options = {"noise_seed": noise_seed} if own or noise_seed else None
        observation, self._info = self.env.reset(seed=seed, options=options)
        if not isinstance(observation, str):
            kind = type(observation).__name__
            raise ValueError(f"{env} is not a text environment: its observations are of {kind}")
        self.task, self.turns = Task(env, seed, noise_seed, split, response_format), []
        return observation

    def step(self, answer: str) -> Turn:
        """Take one answer.

        Raises:
            ResetNeeded: before the first `reset`, and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        if not isinstance(answer, str):
            raise TypeError(f"an answer is a str, got {type(answer).__name__}")
        if self.task is None or self.done:
            raise ResetNeeded("the episode is over or never began: call reset first")
        observation, reward, terminated, truncated, self._info = self.env.step(answer)
        over = bool(terminated or truncated)
        told = _told(self._info, over)
        turn = Turn(observation, float(reward), bool(terminated), bool(truncated), told)
        self.turns.append(turn)
        return turn

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return bool(self.turns) and self.turns[-1].done

    @property
    def info(self) -> dict[str, Any]:
        """What may be told now, see `Turn.info`."""
        return _told(self._info, self.done)

    @property
    def total_reward(self) -> float:
        """The sum of the rewards so far, in the order in which they came."""
        return sum_in_order(turn.reward for turn in self.turns)

    @property
    def success(self) -> bool | None:
        """Whether the episode was a success; None before its end, or if nothing says so."""
        info = self.info
        found = info.get("success", info.get("is_success"))
        return None if found is None else bool(found)

    @property
    def instances(self) -> int | None:
        """How many instances the split has; None if it has no end, or nothing says how many."""
        inner = self.env.unwrapped
        if not isinstance(inner, TextEnv) or inner.split == "train":
            return None
        size: int = inner.held_out_size(inner.variant.name)
        return size

    def oracle(self) -> str:
        """Return what a player answers who knows all but the noise still to come.

        Raises:
            ValueError: for an environment of another package, which has no oracle.
            ResetNeeded: before the first `reset`, and after the end of an episode.
        """
        inner = self.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise ValueError(f"{self._arguments[0]} has no oracle")
        return oracle_answer(inner)

    def close(self) -> None:
        """Free what the environment holds; it is not used again."""
        self.env.close()


def _told(info: Mapping[str, Any], over: bool) -> dict[str, Any]:
    names = (*WHILE_RUNNING, *AT_THE_END) if over else WHILE_RUNNING
    return {name: info[name] for name in names if name in info}


def _made(
    env: str, split: str, response_format: str, options: dict[str, Any]
) -> gymnasium.Env[Any, Any]:
    spec = _spec(env)
    takes = _parameters(spec)
    for name, value, default in (
        ("split", split, "train"),
        ("response_format", response_format, "think"),
    ):
        if name in takes:
            options = {**options, name: value}
        elif value != default:
            raise ValueError(f"{env} has no argument {name}; leave it out")
    try:
        return gymnasium.make(spec, disable_env_checker=True, **options)
    except (TypeError, gymnasium.error.Error) as error:
        raise ValueError(f"{env} cannot be made: {error}") from error


def _spec(env: str) -> EnvSpec:
    module, _, bare = env.rpartition(":")
    try:
        if module:
            import_module(module)
        return gymnasium.spec(bare)
    except ImportError as error:
        raise ValueError(f"{env}: {module} cannot be imported: {error}") from error
    except gymnasium.error.Error as error:
        line = str(error).partition("\n")[0].rstrip(".")
        also = "" if module else f"; MODULE:{env} imports the module that registers it first"
        raise ValueError(f"environment {env!r} is not known: {line}{also}") from None


def _parameters(spec: EnvSpec) -> set[str]:
    maker = spec.entry_point
    creator = load_env_creator(maker) if isinstance(maker, str) else maker
    return set(inspect.signature(creator).parameters) if creator else set()
