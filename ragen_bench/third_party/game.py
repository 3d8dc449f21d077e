"""Registry of the third-party environments that the user named in this process."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ragen_bench.errors import UserError, described
from ragen_bench.third_party.env import MAX_TURNS, ThirdPartyEnv
from ragen_bench.user_code import import_user_module
from ragen_envs.core.instances import HELD_OUT_SIZE, Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import TextEnv


@dataclass(frozen=True)
class ThirdPartyGame:
    """Properties of a third-party environment; used in place of a game's class.

    Attributes:
        id: Id in Gymnasium's registry, or MODULE:ID.
        takes: Accepted arguments among `split` and `response_format`.
        takes_noise_seed: Whether `reset` accepts the option `noise_seed`.
        lists_actions: Whether it lists legal actions, which the random player needs.
        is_text_env: Whether it is a `TextEnv`, which has splits, an oracle and a ceiling.
        repeats: Whether two resets with the same seed gave the same observation.
        has_sealed: Whether it has a sealed split.
        game: Name of its game for the analysis; "" without one.
        doc: Docstring of its class.
        size: Number of instances in a held-out split.
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

    def held_out_size(self, _name: str) -> int:
        """Return the number of instances in a split; their seeds start at 0."""
        return self.size

    def __call__(
        self, _name: str, *, split: Split, response_format: AnswerFormat, **_options: Any
    ) -> TextEnv[Any, Any] | ThirdPartyEnv:
        """Return a new environment.

        Raises:
            UserError: If it cannot be made.
        """
        arguments = {"split": split, "response_format": response_format}
        made = _make(self.id, {name: arguments[name] for name in self.takes})
        inner = made.unwrapped
        if isinstance(inner, TextEnv):
            return inner
        return ThirdPartyEnv(self.id, made, self.takes_noise_seed)

    def notes(self, random_player: bool = False) -> list[str]:
        """Return one line for each feature that the environment lacks.

        Args:
            random_player: Whether the user named a random player.
        """
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
    """Return a registered third-party environment.

    Raises:
        KeyError: If `register_environment` was not called with this id.
    """
    return _GAMES[env]


def register_environment(env: str) -> str:
    """Make a third-party environment available by its id; return the id.

    Args:
        env: Id in Gymnasium's registry, or MODULE:ID to first import the module that registers
            it. The working directory is also searched.

    Raises:
        UserError: If it does not exist, cannot be made, or is not a text environment.
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
    takes = frozenset(_parameters(env) & {"split", "response_format"})
    made = _make(env, {})
    inner: Any = made.unwrapped
    is_text_env = isinstance(inner, TextEnv)
    takes_noise_seed = is_text_env or _accepts_options(made, {"noise_seed": 0})
    adapter = ThirdPartyEnv(env, made, takes_noise_seed)
    observations = [adapter.reset(seed=0, options={"noise_seed": 0})[0] for _ in range(2)]
    return ThirdPartyGame(
        id=env,
        takes=takes,
        takes_noise_seed=takes_noise_seed,
        lists_actions=bool(adapter.legal_actions),
        is_text_env=is_text_env,
        repeats=observations[0] == observations[1],
        has_sealed=is_text_env and inner.has_sealed,
        game=inner.game if is_text_env else "",
        doc=inspect.getdoc(type(inner)) or "",
        size=inner.held_out_size(inner.variant.name) if is_text_env else HELD_OUT_SIZE,
    )


def _parameters(env: str) -> set[str]:
    """Return the parameter names of an environment's constructor."""
    maker = _spec(env).entry_point
    try:
        creator = load_env_creator(maker) if isinstance(maker, str) else maker
        return set(inspect.signature(creator).parameters) if creator else set()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{env} cannot be made: {described(error)}") from error


def _accepts_options(made: gymnasium.Env[Any, Any], options: dict[str, Any]) -> bool:
    try:
        made.reset(seed=0, options=options)
    except Exception:  # noqa: BLE001 (third-party code may raise any exception)
        return False
    return True


def _make(env: str, arguments: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(_spec(env), disable_env_checker=True, **arguments)
    # Third-party code may raise any exception, and may call sys.exit.
    except (Exception, SystemExit) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{env} cannot be made: {described(error)}") from error
