"""Third-party Gymnasium text environments, by their ids, with the interface of the harness."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ragen_bench.errors import UserError, described
from ragen_bench.user_code import import_user_module
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import HELD_OUT_SIZE, Split
from ragen_envs.core.protocol import AnswerFormat, FreeText, Parsed, ResponseFormat
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.core.text_game import Info

T = TypeVar("T")
AnyGymEnv = gymnasium.Env[Any, Any]
MAX_TURNS = 100
"""Turn limit of an episode if the registry states no `max_episode_steps`."""
SUCCESS = ("success", "is_success")
"""Keys of `info` for an episode's success; the second is used by Stable-Baselines3."""


class ThirdPartyEnv:
    """Passes whole responses to a third-party environment and records values of its `info`.

    The environment describes its response format itself, so a response reaches it unchanged. A
    recorded value that `info` lacks is None. `score` is in [0, 1] and defaults to `success`. A
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
        """Raise a UserError, as a third-party environment has no oracle."""
        raise UserError(f"{self._id} has no oracle; evaluate another model")

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


@dataclass(frozen=True)
class ThirdPartyGame:
    """Properties of a third-party environment; used in place of a game's class.

    `takes` has the accepted arguments among `split` and `response_format`, and `game` the game's
    name for the analysis or "". With `repeats`, two resets with one seed gave the same observation.
    `size` is the number of instances in a held-out split.
    """

    id: str
    takes: frozenset[str]
    takes_noise_seed: bool
    lists_actions: bool
    is_text_env: bool
    repeats: bool
    has_sealed: bool
    game: str
    doc: str
    size: int
    reply_counts: tuple[()] = ()

    @property
    def states_form(self) -> bool:
        """Whether the environment describes its response format itself."""
        return "response_format" not in self.takes

    @property
    def module(self) -> str:
        """Name of the module that makes it."""
        maker = _spec(self.id).entry_point
        return maker.partition(":")[0] if isinstance(maker, str) else str(maker.__module__)

    def held_out_size(self, _name: str) -> int:
        """Return the number of instances in a split; their seeds start at 0."""
        return self.size

    def __call__(
        self, _name: str, *, split: Split, response_format: AnswerFormat, **_options: object
    ) -> AnyTextEnv | ThirdPartyEnv:
        """Return a new environment; raises UserError if it cannot be made."""
        arguments = {"split": split, "response_format": response_format}
        made = _make(self.id, {name: arguments[name] for name in self.takes})
        inner = made.unwrapped
        if isinstance(inner, TextEnv):
            return inner
        return ThirdPartyEnv(self.id, made, self.takes_noise_seed)

    def notes(self, random_player: bool = False) -> list[str]:
        """Return one line for each feature that the environment lacks."""
        if self.is_text_env:
            return []
        lacks = []
        if "split" not in self.takes:
            lacks.append("no splits: its instances are the seeds from 0 on")
        if not (self.lists_actions or random_player):
            lacks.append(
                "no legal_actions, so no random baseline; name a player with --random-player"
            )
        if not self.repeats:
            lacks.append("no fixed instances: one seed gave two different observations")
        if _spec(self.id).max_episode_steps is None:
            lacks.append(f"no max_episode_steps: episodes are truncated after {MAX_TURNS} turns")
        lacks.append("no oracle: no normalised score")
        return [f"{self.id} has {lack}." for lack in lacks]


_GAMES: dict[str, ThirdPartyGame] = {}
"""Third-party environments that the user of this process named. A run's record cannot add one,
since its modules would then run as code that the user trusts."""


def registered_ids() -> tuple[str, ...]:
    """Return the ids of the environments registered in this process."""
    return tuple(_GAMES)


def get_game(env: str) -> ThirdPartyGame:
    """Return a registered third-party environment; KeyError if it was not registered."""
    return _GAMES[env]


def register_environment(env: str) -> str:
    """Make a third-party environment available by its id, or MODULE:ID; return the id.

    The working directory is also searched for the module, which is imported first. A UserError
    says that it does not exist, cannot be made, or is not a text environment.
    """
    if env not in _GAMES:
        if module := env.rpartition(":")[0]:
            import_user_module(module, f"{env}: {module}")
        _GAMES[env] = _inspect(env)
    return env


def _spec(env: str) -> EnvSpec:
    bare = env.rpartition(":")[2]
    try:
        return gymnasium.spec(bare)
    except gymnasium.error.Error as error:
        line = str(error).partition("\n")[0].rstrip(".")
        hint = "" if ":" in env else f"; MODULE:{env} imports the module that registers it first"
        raise UserError(f"environment {env!r} is not known: {line}{hint}") from None


def _inspect(env: str) -> ThirdPartyGame:
    maker = _spec(env).entry_point
    try:
        creator = load_env_creator(maker) if isinstance(maker, str) else maker
        parameters = set(inspect.signature(creator).parameters) if creator else set()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{env} cannot be made: {described(error)}") from error
    takes = frozenset(parameters & {"split", "response_format"})
    made = _make(env, {})
    inner = made.unwrapped
    text_env = inner if isinstance(inner, TextEnv) else None
    takes_noise_seed = True
    if text_env is None:
        try:
            made.reset(seed=0, options={"noise_seed": 0})
        except Exception:  # noqa: BLE001 (third-party code may raise any exception)
            takes_noise_seed = False
    adapter = ThirdPartyEnv(env, made, takes_noise_seed)
    observations = [adapter.reset(seed=0, options={"noise_seed": 0})[0] for _ in range(2)]
    return ThirdPartyGame(
        id=env,
        takes=takes,
        takes_noise_seed=takes_noise_seed,
        lists_actions=bool(adapter.legal_actions),
        is_text_env=text_env is not None,
        repeats=observations[0] == observations[1],
        has_sealed=text_env is not None and text_env.has_sealed,
        game=text_env.game if text_env else "",
        doc=inspect.getdoc(type(inner)) or "",
        size=text_env.held_out_size(text_env.variant.name) if text_env else HELD_OUT_SIZE,
    )


def _make(env: str, arguments: Info) -> AnyGymEnv:
    try:
        return gymnasium.make(_spec(env), disable_env_checker=True, **arguments)
    # Third-party code may raise any exception, and may call sys.exit.
    except (Exception, SystemExit) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{env} cannot be made: {described(error)}") from error
