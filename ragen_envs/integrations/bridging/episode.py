"""Episodes of an environment, played as text, with the info that other projects may see."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ragen_envs.core.instances import Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging.task import Task
from ragen_envs.integrations.bridging.third_party import check_step
from ragen_envs.registration import register_third_party_games

WHILE_RUNNING = (
    "format_is_valid",
    "action_is_valid",
    "action_is_effective",
    "legal_actions",
    "turn",
    "actions_left",
)
"""Keys of `info` that are reported during an episode."""
AT_THE_END = ("success", "is_success", "score")
"""Keys of `info` that are reported at the end only, since they may reveal the solution."""


class Turn(NamedTuple):
    """The result of one response.

    Attributes:
        observation: Next text of the player.
        reward: Reward of the response.
        terminated: The rules ended the episode.
        truncated: The budget ended the episode.
        info: The keys `WHILE_RUNNING`, and at the end also `AT_THE_END`, if they exist.
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
    """One environment, one episode at a time; responses are whole texts of a model.

    Args:
        env: Id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        split: Split of the instances.
        response_format: Format of the responses.
        options: Extra arguments of the environment.

    Attributes:
        env: Environment that Gymnasium made.
        task: Task of the current episode; None before the first `reset`.
        turns: Turns of the current episode.

    Raises:
        ValueError: The id is not registered, or the environment does not take an argument.
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
        self.env = _make_env(env, split, response_format, options)
        self.task: Task | None = None
        self.turns: list[Turn] = []

    def reset(self, seed: int, noise_seed: int = 0) -> str:
        """Start an episode, and return its first observation.

        Args:
            seed: Index of the instance in the split.
            noise_seed: Seed of the noise. Environments of other packages get the option
                `noise_seed` unless it is 0.

        Raises:
            ValueError: A seed is not an int of at least 0, or the observation is not a str. The
                running episode continues.
        """
        for name, value in (("seed", seed), ("noise_seed", noise_seed)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} is an int of at least 0, got {value!r}")
        env, split, response_format = self._arguments
        takes_noise = noise_seed > 0 or isinstance(self.env.unwrapped, TextEnv)
        options = {"noise_seed": noise_seed} if takes_noise else None
        observation, self._info = self.env.reset(seed=seed, options=options)
        if not isinstance(observation, str):
            kind = type(observation).__name__
            raise ValueError(f"{env} is not a text environment: its observations are of {kind}")
        self.task, self.turns = Task(env, seed, noise_seed, split, response_format), []
        return observation

    def step(self, response: str) -> Turn:
        """Take one response.

        Raises:
            ResetNeeded: No episode is running.
            TypeError: The response is not a str.
        """
        check_step(response, self.task is not None and not self.done)
        observation, reward, terminated, truncated, self._info = self.env.step(response)
        over = bool(terminated or truncated)
        info = _select_info(self._info, over)
        turn = Turn(observation, float(reward), bool(terminated), bool(truncated), info)
        self.turns.append(turn)
        return turn

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return bool(self.turns) and self.turns[-1].done

    @property
    def info(self) -> dict[str, Any]:
        """The current info, see `Turn.info`."""
        return _select_info(self._info, self.done)

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
        """Number of instances in the split; None if it is unbounded or unknown."""
        inner = self.env.unwrapped
        if not isinstance(inner, TextEnv) or inner.split == "train":
            return None
        size: int = inner.held_out_size(inner.variant.name)
        return size

    def oracle(self) -> str:
        """Return the response of the oracle.

        Raises:
            ValueError: The environment is of another package, which has no oracle.
            ResetNeeded: No episode is running.
        """
        inner = self.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise ValueError(f"{self._arguments[0]} has no oracle")
        return oracle_answer(inner)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def _select_info(info: Mapping[str, Any], over: bool) -> dict[str, Any]:
    names = (*WHILE_RUNNING, *AT_THE_END) if over else WHILE_RUNNING
    return {name: info[name] for name in names if name in info}


def _make_env(
    env: str, split: str, response_format: str, options: dict[str, Any]
) -> gymnasium.Env[Any, Any]:
    spec = _find_spec(env)
    parameters = _parameters(spec)
    for name, value, default in (
        ("split", split, "train"),
        ("response_format", response_format, "think"),
    ):
        if name in parameters:
            options = {**options, name: value}
        elif value != default:
            raise ValueError(f"{env} has no argument {name}; leave it out")
    try:
        return gymnasium.make(spec, disable_env_checker=True, **options)
    except (TypeError, gymnasium.error.Error) as error:
        raise ValueError(f"{env} cannot be made: {error}") from error


def _find_spec(env: str) -> EnvSpec:
    module, _, bare = env.rpartition(":")
    try:
        if module:
            import_module(module)
        if bare not in gymnasium.registry:
            register_third_party_games()
        return gymnasium.spec(bare)
    except ImportError as error:
        raise ValueError(f"{env}: {module} cannot be imported: {error}") from error
    except gymnasium.error.Error as error:
        line = str(error).partition("\n")[0].rstrip(".")
        hint = "" if module else f"; MODULE:{env} imports the module that registers it first"
        raise ValueError(f"environment {env!r} is not known: {line}{hint}") from None


def _parameters(spec: EnvSpec) -> set[str]:
    maker = spec.entry_point
    creator = load_env_creator(maker) if isinstance(maker, str) else maker
    return set(inspect.signature(creator).parameters) if creator else set()
