"""Third-party Gymnasium text environments by their ids, and what they lack."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ragen_bench.errors import UserError, described, nearest
from ragen_bench.third_party.env import MAX_TURNS, AnyGymEnv, ThirdPartyEnv
from ragen_bench.user_code import import_user_module
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations import external


@dataclass(frozen=True)
class ThirdPartyGame:
    """Properties of a third-party environment; used in place of a game's class.

    `takes` has the accepted arguments among `split` and `response_format`, and `game` the game's
    name for the analysis or "". With `repeats`, two resets with one seed gave the same observation,
    and with `has_oracle` the environment knows a solution.
    `size` is the number of instances in a held-out split.
    """

    id: str
    takes: frozenset[str]
    takes_noise_seed: bool
    lists_actions: bool
    is_text_env: bool
    has_oracle: bool
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
        if not self.has_oracle:
            lacks.append("no oracle: no normalised score")
        package = external.find_package(self.id)
        note = external.describe_version(package) if package else ""
        return [*([f"{note}."] if note else []), *(f"{self.id} has {lack}." for lack in lacks)]


_GAMES: dict[str, ThirdPartyGame] = {}
"""Third-party environments that the user of this process named. A run's record cannot add one,
since its modules would then run as code that the user trusts."""


def registered_ids() -> tuple[str, ...]:
    """Return the ids of the environments registered in this process."""
    return tuple(_GAMES)


def get_game(env: str) -> ThirdPartyGame:
    """Return a third-party environment; KeyError for one that the user did not name.

    Those of `ragen_envs.integrations.external` are run by this project's code, so they need not be
    named.
    """
    return _GAMES[register_environment(env) if external.find_package(env) else env]


def register_environment(env: str) -> str:
    """Make a third-party environment available by its id, MODULE:ID, or PACKAGE:NAME; return it.

    The working directory is also searched for the module, which is imported first. A UserError
    says that it does not exist, cannot be made, or is not a text environment.
    """
    if env not in _GAMES:
        module = env.rpartition(":")[0]
        if module and not external.find_package(env):
            near = nearest(module, external.PACKAGES)
            hint = f" (did you mean {near}:?)" if near and "/" not in env else ""
            import_user_module(module, f"{env}{hint}: {module}")
        _GAMES[env] = _inspect(env)
    return env


def _spec(env: str) -> EnvSpec:
    try:
        bare = external.register(env) if external.find_package(env) else env.rpartition(":")[2]
        return gymnasium.spec(bare)
    except (ImportError, ValueError) as error:
        raise UserError(str(error)) from error
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
        has_oracle=text_env is not None or adapter.has_oracle,
        repeats=observations[0] == observations[1],
        has_sealed=text_env is not None and text_env.has_sealed,
        game=text_env.game if text_env else "",
        doc=inspect.getdoc(type(inner)) or "",
        size=text_env.held_out_size(text_env.variant.name) if text_env else adapter.held_out_size,
    )


def _make(env: str, arguments: Info) -> AnyGymEnv:
    try:
        return gymnasium.make(_spec(env), disable_env_checker=True, **arguments)
    # Third-party code may raise any exception, and may call sys.exit.
    except (Exception, SystemExit) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{env} cannot be made: {described(error)}") from error
