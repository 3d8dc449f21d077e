"""A Gymnasium text environment of somebody else, with what the harness asks of an environment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np

from ragen_bench.errors import UserError, described
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import FreeText, Parsed, ResponseFormat

T = TypeVar("T")
MOST_TURNS = 100
"""The turns of an episode where the registry names no `max_episode_steps`."""
SUCCESS = ("success", "is_success")
"""The keys of `info` that say whether an episode was a success; the second is that of
Stable-Baselines3."""


class ThirdPartyEnv:
    """Steps an environment with a model's whole answers, and reads its `info` where it has any.

    The environment states the form of its answers itself, so an answer reaches it as it is.
    What `info` does not tell is None: `success`, `score` (in [0, 1]; that of success if it is
    missing), `ceiling`, `optimal_length`, `instance`, and whether an answer was in form, valid and
    effective.

    Args:
        env_id: how messages name it.
        env: what Gymnasium made.
        takes_noise_seed: whether `reset` takes the option `noise_seed`.

    Raises:
        UserError: from `reset` and `step`, if the environment raises or returns what no text
            environment does.
    """

    free_text: FreeText | None = None
    response_format: ResponseFormat = "plain"

    def __init__(self, env_id: str, env: gymnasium.Env[Any, Any], takes_noise_seed: bool) -> None:
        self._id, self._env, self._takes_noise_seed = env_id, env, takes_noise_seed
        turns = (env.spec and env.spec.max_episode_steps) or MOST_TURNS
        self.budget = Budget(turns, 1, turns, 0)
        self._info: Mapping[str, Any] = {}
        self._turn = 0
        self._running = False
        self._observations: list[str] = []

    def reset(
        self, *, seed: int, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode, and return the first observation and `info`."""
        wanted = options if self._takes_noise_seed else None
        result = self._called(
            f"reset(seed={seed})", lambda: self._env.reset(seed=seed, options=wanted)
        )
        observation, self._info = self._parts(result, 2, "reset")
        self._turn, self._running, self._index = 0, True, seed
        self._observations = [observation]
        return observation, self._told()

    def step(self, answer: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Hand one answer to the environment.

        An episode of 100 turns that the environment does not end is truncated, where the registry
        names no other number.
        """
        self._turn += 1
        result = self._called(f"step, turn {self._turn}", lambda: self._env.step(answer))
        observation, reward, terminated, truncated, self._info = self._parts(result, 5, "step")
        if not _is_number(reward):
            raise self._wrong("step", f"the reward {reward!r}, which is not a finite number")
        ends = bool(terminated), bool(truncated) or self._turn >= self.budget.max_turns
        self._running = not any(ends)
        self._observations.append(observation)
        return observation, float(reward), *ends, self._told()

    def close(self) -> None:
        """Free what the environment holds; it is not used again."""
        self._env.close()

    def read(self, answer: str) -> tuple[Parsed, tuple[str, ...]]:
        """Return what an answer says: an action where the environment lists it, else nothing."""
        action, legal = answer.strip(), self.legal_actions
        named = (action,) if action in legal else ()
        return Parsed(True, (0,) * len(named), bool(named) or not legal, False), named

    @property
    def observations(self) -> tuple[str, ...]:
        """What the environment said in this episode, the latest observation last."""
        return tuple(self._observations)

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The answers that the environment lists now; empty after the end, or if it lists none.

        They stand in `info["legal_actions"]`, or in the environment's attribute of that name.
        """
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
        """How many actions an answer may name."""
        return 1

    @property
    def turns_left(self) -> int:
        """The answers that can still be given."""
        return self.budget.max_turns - self._turn

    @property
    def actions_left(self) -> int:
        """The actions that can still be run."""
        return self.turns_left

    def best_actions(self) -> tuple[str, ...]:
        """Refuse to play the oracle, which such an environment does not have.

        Raises:
            UserError: always.
        """
        raise UserError(f"{self._id} has no oracle; evaluate another model")

    def get_instance(self, seed: int) -> int:
        """Return the instance of a seed, of which the harness knows the number alone."""
        return seed

    def _told(self) -> dict[str, Any]:
        """Return what the harness records of the environment's `info`."""
        info = self._info
        success = next((_flag(info[key]) for key in SUCCESS if key in info), None)
        score = _share(info.get("score"))
        if score is None and success is not None:
            score = float(success)
        instance, length = info.get("instance"), info.get("optimal_length")
        return {
            "index": self._index,
            "success": success,
            "score": score,
            "ceiling": _share(info.get("ceiling")),
            "instance": instance if isinstance(instance, str) else None,
            "optimal_length": length if type(length) is int else None,
            "format_is_valid": _flag(info.get("format_is_valid")),
            "action_is_valid": _flag(info.get("action_is_valid")),
            "action_is_effective": _flag(info.get("action_is_effective")),
            "answer_is_example": None,
        }

    def _called(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        # The environment is the user's own code, which may raise anything, or leave the process.
        except (Exception, SystemExit) as error:
            raise UserError(
                f"{self._id} raised {described(error)} in {what}", exit_code=1
            ) from error

    def _parts(self, result: Any, size: int, call: str) -> tuple[Any, ...]:
        if not isinstance(result, tuple) or len(result) != size:
            raise self._wrong(call, f"{type(result).__name__}, not a tuple of {size}")
        if not isinstance(result[0], str):
            kind = type(result[0]).__name__
            raise self._wrong(call, f"an observation of type {kind}; wrap it so that it is a text")
        if not isinstance(result[-1], Mapping):
            raise self._wrong(
                call, f"an info of type {type(result[-1]).__name__}, not a dictionary"
            )
        return result

    def _wrong(self, call: str, what: str) -> UserError:
        return UserError(f"{self._id} is not a text environment: {call} returned {what}")


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float, np.integer, np.floating))
    return real and math.isfinite(value)


def _share(value: Any) -> float | None:
    """Return a number of [0, 1], None for all else."""
    return float(value) if _is_number(value) and 0 <= value <= 1 else None


def _flag(value: Any) -> bool | None:
    return bool(value) if isinstance(value, (bool, np.bool_)) else None
