"""Foreign environments that the user named: how they are found, made and described."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ragen_bench.errors import UserError, described
from ragen_bench.third_party.env import MOST_TURNS, ThirdPartyEnv
from ragen_bench.user_code import import_user_module
from ragen_envs.core.instances import HELD_OUT_SIZE, Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import TextEnv


@dataclass(frozen=True)
class ThirdPartyGame:
    """What the harness knows of a foreign environment; it stands where a game's class does.

    Attributes:
        id: as the user named it: an id of Gymnasium's registry, or MODULE:ID.
        takes: the arguments `split` and `response_format`, as far as the environment has them.
        takes_noise_seed: whether `reset` takes the option `noise_seed`.
        lists_actions: whether it says which answers are legal, so that a random player can play.
        is_text_env: whether it is a `TextEnv`, with splits, oracle and ceiling as the suite's own.
        repeats: whether a reset with the same seed gave the same observation.
        has_sealed: whether it has a sealed split.
        game: the name of its game for the analysis, "" without one.
        doc: its class's docstring.
        size: the instances of a held-out split.
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
        """Whether the environment says itself how to answer, so that answers reach it as are."""
        return "response_format" not in self.takes

    def held_out_size(self, _name: str) -> int:
        """Return how many instances a split has; the seeds from 0 on enumerate them."""
        return self.size

    def __call__(
        self, _name: str, *, split: Split, response_format: AnswerFormat, **_options: Any
    ) -> TextEnv[Any, Any] | ThirdPartyEnv:
        """Return a new environment.

        Raises:
            UserError: if it cannot be made.
        """
        wanted = {"split": split, "response_format": response_format}
        chosen = {name: value for name, value in wanted.items() if name in self.takes}
        made = _made(self.id, chosen)
        inner = made.unwrapped
        if isinstance(inner, TextEnv):
            return inner
        return ThirdPartyEnv(self.id, made, self.takes_noise_seed)

    def notes(self, random_player: bool = False) -> list[str]:
        """Return what the environment lacks, a line each.

        Args:
            random_player: whether the user named one.
        """
        if self.is_text_env:
            return []
        lacks = []
        if "split" not in self.takes:
            lacks.append("no splits: instances are its seeds from 0 on")
        if not (self.lists_actions or random_player):
            lacks.append(
                "no legal_actions: no random player, so no floor, unless --random-player names one"
            )
        if not self.repeats:
            lacks.append("no fixed instances: the same seed gave two different observations")
        if _spec(self.id).max_episode_steps is None:
            lacks.append(f"no max_episode_steps: episodes are cut after {MOST_TURNS} turns")
        lacks.append("no oracle: no normalised score")
        return [f"{self.id} has {lack}." for lack in lacks]


_NAMED: dict[str, ThirdPartyGame] = {}
"""The foreign environments that the user of this process named. A record alone names none: its
modules would run as the user's own code."""


def named_ids() -> tuple[str, ...]:
    """Return the foreign environments that were named in this process."""
    return tuple(_NAMED)


def game_of(env: str) -> ThirdPartyGame:
    """Return a foreign environment that was named before.

    Raises:
        KeyError: if it was not.
    """
    return _NAMED[env]


def name_environment(env: str) -> str:
    """Look at an environment of another package, so that it can be played by its id.

    Args:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it
            first. The working directory is searched too.

    Returns:
        The same id.

    Raises:
        UserError: if there is none, it cannot be made, or it is not a text environment.
    """
    if env not in _NAMED:
        _import(env)
        _NAMED[env] = _looked_at(env)
    return env


def _import(env: str) -> None:
    if module := env.rpartition(":")[0]:
        import_user_module(module, f"{env}: {module}")


def _spec(env: str) -> EnvSpec:
    bare = env.rpartition(":")[2]
    try:
        return gymnasium.spec(bare)
    except gymnasium.error.Error as error:
        line = str(error).partition("\n")[0].rstrip(".")
        also = "" if ":" in env else f"; MODULE:{env} imports the module that registers it first"
        raise UserError(f"environment {env!r} is not known: {line}{also}") from None


def _looked_at(env: str) -> ThirdPartyGame:
    takes = frozenset(_parameters(env) & {"split", "response_format"})
    made = _made(env, {})
    inner: Any = made.unwrapped
    own = isinstance(inner, TextEnv)
    takes_noise_seed = own or _resets(made, {"noise_seed": 0})
    foreign = ThirdPartyEnv(env, made, takes_noise_seed)
    observations = [foreign.reset(seed=0, options={"noise_seed": 0})[0] for _ in range(2)]
    return ThirdPartyGame(
        id=env,
        takes=takes,
        takes_noise_seed=takes_noise_seed,
        lists_actions=bool(foreign.legal_actions),
        is_text_env=own,
        repeats=observations[0] == observations[1],
        has_sealed=own and inner.has_sealed,
        game=inner.game if own else "",
        doc=inspect.getdoc(type(inner)) or "",
        size=inner.held_out_size(inner.variant.name) if own else HELD_OUT_SIZE,
    )


def _parameters(env: str) -> set[str]:
    """Return the names of the arguments that an environment's maker has."""
    maker = _spec(env).entry_point
    try:
        creator = load_env_creator(maker) if isinstance(maker, str) else maker
        return set(inspect.signature(creator).parameters) if creator else set()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{env} cannot be made: {described(error)}") from error


def _resets(made: gymnasium.Env[Any, Any], options: dict[str, Any]) -> bool:
    """Return whether an environment takes options of `reset`."""
    try:
        made.reset(seed=0, options=options)
    except Exception:  # noqa: BLE001 (what an environment raises for an option is its own)
        return False
    return True


def _made(env: str, chosen: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(_spec(env), disable_env_checker=True, **chosen)
    # Its maker is the user's own code, which may raise anything, or leave the process.
    except (Exception, SystemExit) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{env} cannot be made: {described(error)}") from error
