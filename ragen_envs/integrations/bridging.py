"""The core of all bridges to other projects: tasks, and episodes of text."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

from ragen_envs.core.instances import Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import MAX_ACTION, TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.registration import all_games, register_third_party_games

__all__ = ["Episode", "NoiseSeedCounter", "Task", "Turn", "tasks"]

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
_OBSERVATION = 1 << 20
"""Maximum characters of an observation."""


@dataclass(frozen=True, slots=True)
class Task:
    """One instance with one noise seed, in plain values for data sets.

    `env` is an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
    `seed` is the index of the instance in the split; the members of a group differ in
    `noise_seed` only.
    """

    env: str
    seed: int
    noise_seed: int = 0
    split: Split = "train"
    response_format: AnswerFormat = "think"


def tasks(
    env: str,
    instances: int,
    rollouts: int = 1,
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    first_seed: int = 0,
) -> Iterator[Task]:
    """Return the tasks of several instances, the rollouts of an instance one after another.

    Seeds begin with `first_seed`, and noise seeds with 0. ValueError if a number is out of range.
    """
    for name, value, least in (
        ("instances", instances, 1),
        ("rollouts", rollouts, 1),
        ("first_seed", first_seed, 0),
    ):
        if value < least:
            raise ValueError(f"{name} is at least {least}, got {value}")
    return (
        Task(env, seed, noise_seed, split, response_format)
        for seed in range(first_seed, first_seed + instances)
        for noise_seed in range(rollouts)
    )


class NoiseSeedCounter:
    """Counts the episodes of each instance, so that those of a group differ in their noise.

    An instance's noise seeds are `first`, `first + step` and so on.
    """

    def __init__(self, first: int = 0, step: int = 1) -> None:
        self._first, self._step = first, step
        self._begun: Counter[tuple[str, Split, int]] = Counter()
        self._lock = Lock()

    @classmethod
    def of_process(cls) -> NoiseSeedCounter:
        """Return a counter whose seeds no other process of the run uses.

        Launchers such as torchrun set RANK and WORLD_SIZE.
        """
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    def next(self, env: str, split: Split, seed: int) -> int:
        """Return the noise seed of an instance's next episode."""
        with self._lock:
            begun = self._begun[env, split, seed]
            self._begun[env, split, seed] += 1
        return self._first + begun * self._step


class Turn(NamedTuple):
    """The result of one response.

    `terminated` is an end by the rules, and `truncated` one by the budget. `info` has the keys
    `WHILE_RUNNING`, and at the end also `AT_THE_END`, if they exist.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: Info

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Episode:
    """One environment, one episode at a time; responses are whole texts of a model.

    The id is as in `Task`, and `options` are extra arguments of the environment. `task` is the
    current episode's, None before the first `reset`, and `turns` the number of its turns.

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
        self._info: Mapping[str, object] = {}
        spec = _find_spec(env)
        maker = spec.entry_point
        creator = load_env_creator(maker) if isinstance(maker, str) else maker
        parameters = inspect.signature(creator).parameters if creator else ()
        for name, value, default in (
            ("split", split, "train"),
            ("response_format", response_format, "think"),
        ):
            if name in parameters:
                options[name] = value
            elif value != default:
                raise ValueError(f"{env} has no argument {name}; leave it out")
        try:
            made = gymnasium.make(spec, disable_env_checker=True, **options)
        except (TypeError, gymnasium.error.Error) as error:
            raise ValueError(f"{env} cannot be made: {error}") from error
        self.env: gymnasium.Env[Any, str] = made
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
        check_seed("seed", seed)
        check_seed("noise_seed", noise_seed)
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
        turn = Turn(observation, float(reward), bool(terminated), bool(truncated), {})
        self.turns.append(turn)
        turn.info.update(self.info)
        return turn

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return bool(self.turns) and self.turns[-1].done

    @property
    def info(self) -> Info:
        """The current info, see `Turn.info`."""
        names = (*WHILE_RUNNING, *AT_THE_END) if self.done else WHILE_RUNNING
        return {name: self._info[name] for name in names if name in self._info}

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
        """Return the oracle's response; a ValueError for an environment of another package."""
        inner = self.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise ValueError(f"{self._arguments[0]} has no oracle")
        return oracle_answer(inner)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


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
        # Gymnasium would suggest its own environments, which have no text.
        names = [name for game in all_games() for name in (*game.ids, *game.opponent_ids)]
        suite = {name.rpartition("/")[2].lower(): name for name in names}
        if near := get_close_matches(bare.rpartition("/")[2].lower(), suite, n=1, cutoff=0.75):
            line, hint = f"did you mean {suite[near[0]]}?", ""
        raise ValueError(f"environment {env!r} is not known: {line}{hint}") from None


class AnyText(Text):
    """Gymnasium's `Text` without a charset, since third-party texts may use any characters."""

    def contains(self, x: object) -> bool:
        """Whether something is a str that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


class BridgedEnv(gymnasium.Env[str, str]):
    """A text environment of another project, which has any texts and no render mode."""

    metadata: Info = {"render_modes": []}

    def __init__(self, render_mode: None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = AnyText(_OBSERVATION, min_length=0)
        self.action_space = AnyText(MAX_ACTION, min_length=0)
        self._responses: list[str] = []
        self._running = False


def check_seed(name: str, value: object) -> None:
    """Raise a ValueError unless a value is an int of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is an int of at least 0, got {value!r}")


def check_step(action: object, running: bool) -> None:
    """Raise the errors of a step: a response that is not a str, or no running episode."""
    if not isinstance(action, str):
        raise TypeError(f"a response must be a str, got {type(action).__name__}")
    if not running:
        raise ResetNeeded("the episode is over or never began: call reset() first")


def sendable(response: str) -> str:
    """Replace lone surrogates, which JSON in UTF-8 cannot contain, by "?"."""
    return response.encode(errors="replace").decode()
