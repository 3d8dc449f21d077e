"""A third-party environment with the interface that the harness plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

import gymnasium
import numpy as np

from ragen_bench.errors import UserError, described
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import HELD_OUT_SIZE
from ragen_envs.core.protocol import FreeText, Parsed, ResponseFormat
from ragen_envs.core.text_game import Info
from ragen_envs.integrations import external

T = TypeVar("T")
AnyGymEnv = gymnasium.Env[Any, Any]
MAX_TURNS = 100
"""Turn limit of an episode if the registry states no `max_episode_steps`."""
SUCCESS = ("success", "is_success")
"""Keys of `info` for an episode's success; the second is used by Stable-Baselines3."""


class ThirdPartyEnv:
    """Passes whole responses to a third-party environment and records values of its `info`.

    The environment describes its response format itself, so a response reaches it unchanged.
    Recorded values that `info` lacks are None. `score` is in [0, 1] and defaults to `success`. A
    UserError of `reset` or `step` says that the environment fails, or is not a text environment.
    """

    free_text: FreeText | None = None
    response_format: ResponseFormat = "plain"

    def __init__(self, env_id: str, env: AnyGymEnv, takes_noise_seed: bool) -> None:
        self._id, self._env, self._takes_noise_seed = env_id, env, takes_noise_seed
        turns = (env.spec and env.spec.max_episode_steps) or MAX_TURNS
        self.budget = Budget(turns, 1, turns, 0)
        self._info: Mapping[str, object] = {}
        self._turn = 0
        self._running = False
        self._observations: list[str] = []

    def reset(self, *, seed: int, options: Info | None = None) -> tuple[str, Info]:
        """Start an episode; return the first observation and the recorded values."""
        accepted = options if self._takes_noise_seed else None
        result = self._call(
            f"reset(seed={seed})", lambda: self._env.reset(seed=seed, options=accepted)
        )
        observation, self._info = self._check(result, 2, "reset")
        self._turn, self._running, self._index = 0, True, seed
        self._observations = [observation]
        return observation, self._read_info()

    def step(self, answer: str) -> tuple[str, float, bool, bool, Info]:
        """Pass one response to the environment; truncate the episode at the turn limit."""
        self._turn += 1
        result = self._call(f"step, turn {self._turn}", lambda: self._env.step(answer))
        observation, reward, terminated, truncated, self._info = self._check(result, 5, "step")
        if not _is_number(reward):
            raise self._type_error("step", f"the reward {reward!r}, which is not a finite number")
        ends = bool(terminated), bool(truncated) or self._turn >= self.budget.max_turns
        self._running = not any(ends)
        self._observations.append(observation)
        return observation, float(reward), *ends, self._read_info()

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def read(self, answer: str) -> tuple[Parsed, tuple[str, ...]]:
        """Return the parsed response and its action, if the environment lists that action."""
        action, legal = answer.strip(), self.legal_actions
        named = (action,) if action in legal else ()
        return Parsed(True, (0,) * len(named), bool(named) or not legal, False), named

    @property
    def observations(self) -> tuple[str, ...]:
        """All observations of this episode, the latest one last."""
        return tuple(self._observations)

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """Legal responses now; empty after the end of an episode, or if none are listed."""
        if not self._running:
            return ()
        listed = self._info.get("legal_actions")
        if listed is None:
            listed = getattr(self._env.unwrapped, "legal_actions", ())
        if isinstance(listed, str) or not isinstance(listed, Sequence):
            return ()
        return tuple(action for action in listed if isinstance(action, str))

    @property
    def actions_this_turn(self) -> int:
        """Maximum number of actions in a response."""
        return 1

    @property
    def turns_left(self) -> int:
        """Number of responses left in this episode."""
        return self.budget.max_turns - self._turn

    @property
    def actions_left(self) -> int:
        """Number of actions left in this episode."""
        return self.turns_left

    def best_actions(self) -> tuple[str, ...]:
        """Return the next actions of the environment's own solution; a UserError without one."""
        find = getattr(self._env.unwrapped, "best_actions", None)
        actions = tuple(self._call("best_actions", find)) if callable(find) else ()
        if not actions:
            raise UserError(f"{self._id} has no oracle; evaluate another model")
        return actions

    @property
    def has_oracle(self) -> bool:
        """Whether the environment knows its solution in this state."""
        try:
            return bool(self.best_actions())
        except UserError:
            return False

    @property
    def held_out_size(self) -> int:
        """Number of instances in val, and in test."""
        name = "held_out_size"
        size = self._call(name, lambda: getattr(self._env.unwrapped, name, HELD_OUT_SIZE))
        return size if type(size) is int and 1 <= size <= HELD_OUT_SIZE else HELD_OUT_SIZE

    def get_instance(self, seed: int) -> int:
        """Return the seed, which is all that the harness knows of an instance."""
        return seed

    def _read_info(self) -> Info:
        """Return the values of the environment's `info` that a record has."""
        info = self._info
        success = next((_as_bool(info[key]) for key in SUCCESS if key in info), None)
        score = _as_fraction(info.get("score"))
        if score is None and success is not None:
            score = float(success)
        instance, length = info.get("instance"), info.get("optimal_length")
        return {
            "index": self._index,
            "success": success,
            "score": score,
            "ceiling": _as_fraction(info.get("ceiling")),
            "instance": instance if isinstance(instance, str) else None,
            "optimal_length": length if type(length) is int else None,
            "format_is_valid": _as_bool(info.get("format_is_valid")),
            "action_is_valid": _as_bool(info.get("action_is_valid")),
            "action_is_effective": _as_bool(info.get("action_is_effective")),
            "answer_is_example": None,
        }

    def _call(self, name: str, call: Callable[[], T]) -> T:
        try:
            return call()
        # Third-party code may raise any exception, and may call sys.exit.
        except (Exception, SystemExit) as error:
            if external.find_package(self._id) and isinstance(error, gymnasium.error.Error):
                raise UserError(str(error)) from error  # such as missing data, and what to do
            raise UserError(
                f"{self._id} raised {described(error)} in {name}", exit_code=1
            ) from error

    def _check(self, result: object, size: int, call: str) -> tuple[Any, ...]:
        if not isinstance(result, tuple) or len(result) != size:
            raise self._type_error(call, f"{type(result).__name__}, not a tuple of {size}")
        if not isinstance(result[0], str):
            kind = type(result[0]).__name__
            raise self._type_error(call, f"an observation of type {kind}; wrap it to return text")
        if not isinstance(result[-1], Mapping):
            raise self._type_error(
                call, f"an info of type {type(result[-1]).__name__}, not a dictionary"
            )
        return result

    def _type_error(self, call: str, value: str) -> UserError:
        return UserError(f"{self._id} is not a text environment: {call} returned {value}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)


def _as_fraction(value: object) -> float | None:
    """Return a number in [0, 1] as a float; None for any other value."""
    return float(value) if _is_number(value) and 0 <= value <= 1 else None


def _as_bool(value: object) -> bool | None:
    return bool(value) if isinstance(value, (bool, np.bool_)) else None
