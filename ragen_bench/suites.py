"""Suites, and environments made by their ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias, TypeVar

from ragen_bench.environments import AnyEnv, find_class, has_oracle, is_text_env, needs_opponent
from ragen_bench.errors import UserError, nearest, unknown
from ragen_bench.third_party import get_game, register_environment
from ragen_envs.core.game_spec import NAMESPACE, GameSpec
from ragen_envs.core.instances import HELD_OUT_SIZE, Split
from ragen_envs.core.protocol import RESPONSE_FORMATS, AnswerFormat, ResponseFormat
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.registration import (
    GAMES,
    IDS,
    OPPONENT_IDS,
    all_games,
    find_blind_script,
    is_registered,
    register_third_party_games,
)

T = TypeVar("T", bound=str)


@dataclass(frozen=True)
class Suite:
    """A named set of environments.

    The version increases when anything else changes. `chosen` has the number of instances of each
    environment, from seed 0 on; None for all held-out ones. `max_tokens` is the default limit of a
    response, and `samples` the minimum of episodes on each instance in a leaderboard entry.
    """

    version: int
    about: str
    chosen: dict[str, int | None]
    max_tokens: int = 200
    samples: int = 1

    @cached_property
    def instances(self) -> dict[str, int]:
        """The number of instances of each environment, from seed 0 on."""
        return {env: count or held_out_size(env) for env, count in self.chosen.items()}


def _members(suite: str, games: Iterable[GameSpec] = GAMES) -> dict[str, int | None]:
    """Return the ids of a suite, each with the number of its instances, None for all."""
    return {
        f"{game.namespace}/{variant.name}": variant.suites[suite]
        for game in games
        for variant in game.variants
        if suite in variant.suites
    }


SUITES = {
    "quick": Suite(
        1,
        "Bandit, Sokoban and FrozenLake in a few minutes on two cores",
        _members("quick"),
        max_tokens=64,
    ),
    "core": Suite(1, "the families of the RAGEN paper, all held-out instances", _members("core")),
    "core-2": Suite(
        1, "one environment of each of ten families, all held-out instances", _members("core-2")
    ),
    "full": Suite(
        max(game.suite_version for game in GAMES),
        "every environment, all held-out instances",
        dict.fromkeys(IDS),
    ),
}
"""This package's suites. `core` has the tasks of the RAGEN paper (arXiv 2504.20073, section 3.1 and
table 2), `core-2` the first variant of each of the first ten families. A published version keeps
its instances: a new game joins `full`, whose next version its spec names, and a suite that is not
published yet."""


def all_suites() -> dict[str, Suite]:
    """Return this package's suites and those that installed games define."""
    return {**SUITES, **_third_party_suites()}


@cache
def _third_party_suites() -> dict[str, Suite]:
    games = register_third_party_games()
    suites = {}
    for name in dict.fromkeys(suite for game in games for suite in game.suites):
        members = [game for game in games if name in game.suites]
        about = f"games of the namespace {members[0].namespace}"
        version = max(game.suite_version for game in members)
        suites[name] = Suite(version, about, _members(name, members))
    return suites


def find_suite(name: str) -> Suite:
    """Return the suite of a name, or raise UserError."""
    if name not in all_suites():
        raise unknown("suite", name, all_suites())
    return all_suites()[name]


def select(
    suite: str | None, envs: Sequence[str] | None, limit: int | None, opposed: bool = False
) -> dict[str, int]:
    """Return the environments to evaluate, each with the number of instances.

    They are of a suite or of ids, whose namespace `ragen` may be omitted. If there is an opponent
    (`opposed`), every environment must need one, else none. An unknown suite or id, both at once, a
    limit out of range, or an opponent that is missing or not needed raises a UserError.
    """
    if envs and suite:
        raise UserError("give either --suite or --env, not both")
    if limit is not None and not 1 <= limit <= HELD_OUT_SIZE:
        raise UserError(f"--limit is between 1 and {HELD_OUT_SIZE}, got {limit}")
    if envs:
        ids = [env_id(env, opposed) for env in envs]
        chosen = {env: held_out_size(env) for env in ids}
    else:
        name = suite or "core"
        found = find_suite(name)
        if opposed:
            raise _opponent_error(f"the suite {name}")
        chosen = found.instances
    return {env: min(count, limit or count) for env, count in chosen.items()}


def env_id(name: str, opposed: bool | None = False) -> str:
    """Return the full id of an environment, whose namespace `ragen` may be omitted.

    An id that is not registered is passed to `register_environment`. `opposed` says whether the
    environment must need an opponent; None for either. An unknown environment, or one of the other
    kind, raises a UserError.
    """
    full = name if "/" in name or ":" in name else f"{NAMESPACE}/{name}"
    if "," in full and ":" not in full:  # no id has a comma
        each = " ".join(f"--env {one.strip()}" for one in name.split(","))
        raise UserError(f"--env takes one environment; repeat it: {each}")
    if not is_registered(full) and not full.startswith(f"{NAMESPACE}/"):
        if opposed:
            raise _opponent_error(full)
        return register_environment(full)
    if not is_registered(full):
        known = tuple(id_ for game in all_games() for id_ in (*game.ids, *game.opponent_ids))
        # The namespace and the version, which all ids share, would make any two similar.
        bare = {_bare(each): each for each in known}
        raise unknown("environment", name, known, bare.get(nearest(_bare(full), bare) or ""))
    if opposed is False and needs_opponent(full):
        raise UserError(
            f"{full} is played against another model, in a separate run: "
            f"ragen-bench evaluate MODEL --env {_short(full)} --opponent MODEL"
        )
    if opposed and not needs_opponent(full):
        raise _opponent_error(full)
    return full


def _opponent_error(where: str) -> UserError:
    ids = " or ".join(f"--env {_short(each)}" for each in OPPONENT_IDS)
    return UserError(f"{where} has no opponent; remove --opponent, or use it with {ids}")


def _short(env: str) -> str:
    return env.rpartition("/")[2]


def _bare(name: str) -> str:
    return name.lower().removeprefix(f"{NAMESPACE}/").removesuffix("-v0")


def states_form(env: str) -> bool:
    """Return whether an external environment states its response format itself."""
    return not is_registered(env) and get_game(env).states_form


def plays(player: str, env: str, random_player: bool = False) -> bool:
    """Return whether a player can play an environment.

    "random" needs a list of actions, or a function that the user named (`random_player`), "oracle"
    a known solution, "blind" a script of the game; any other model plays all.
    """
    if player == "blind":
        return find_blind_script(env) is not None
    if player == "oracle":
        return has_oracle(env)
    if player != "random" or is_text_env(env):
        return True
    return random_player or get_game(env).lists_actions


def held_out_size(env: str) -> int:
    """Return the number of instances in each held-out split of an environment."""
    size: int = find_class(env).held_out_size(_short(env))
    return size


def has_split(env: str, split: Split) -> bool:
    """Return whether an environment has a split; some have no sealed or drawn split."""
    if split not in ("sealed", "drawn"):
        return True
    sealable: bool = find_class(env).has_sealed
    return sealable and (split == "sealed" or is_registered(env))


def response_format_of(name: str) -> ResponseFormat:
    """Return a format of responses in text, which excludes "tools"; else a UserError."""
    return find_choice("format", name, RESPONSE_FORMATS)


def find_choice(what: str, name: str, choices: tuple[T, ...]) -> T:
    """Return the choice of a name, or raise a UserError that says `what` it is."""
    for choice in choices:
        if choice == name:
            return choice
    raise unknown(what, name, choices)


def check_split(env: str, split: Split) -> None:
    """Raise a UserError if an environment lacks a split."""
    if not has_split(env, split):
        why = "all its instances are public" if is_registered(env) else "it is external"
        raise UserError(
            f"{env} has no split {split!r}, since {why}; "
            "choose other environments with --env, or use --split val or test"
        )


def make_env(
    env: str,
    split: Split,
    response_format: AnswerFormat,
    opponent_format: ResponseFormat | None = None,
    draw: str = "",
    pictured: bool = False,
) -> AnyEnv:
    """Construct an environment by its full id.

    `opponent_format` defaults to that of the player. `draw` is the key of the drawn split, see
    `ragen_envs.core.drawn`. A `pictured` environment shows pictures of the board in place of the
    text. A split that it lacks, or the drawn split without a key, raises a UserError.
    """
    check_split(env, split)
    if split == "drawn" and not draw:
        raise UserError(
            "the drawn split needs a draw: use `ragen-bench evaluate --split drawn --draw FILE`, "
            "or --split val or test"
        )
    options: dict[str, object] = {"draw": draw} if split == "drawn" else {}
    if pictured:
        options["pictured"] = True
    if needs_opponent(env):
        options["opponent_format"] = opponent_format
    made: AnyEnv = find_class(env)(
        _short(env), split=split, response_format=response_format, render_mode="ansi", **options
    )
    if isinstance(made, TextEnv):
        made.oracle_info = True  # records have the ceiling in every split
    return made


def make_text_env(env: str, split: Split, response_format: AnswerFormat) -> AnyTextEnv:
    """Construct a `TextEnv`, which has an oracle and splits; else a UserError."""
    made = make_env(env, split, response_format)
    if not isinstance(made, TextEnv):
        raise UserError(f"{env} is not a TextEnv of ragen_envs, so it has no oracle")
    return made


Make: TypeAlias = Callable[[str, Split, AnswerFormat], AnyEnv]


class EnvPool:
    """Reuses environments in later episodes, since making one takes longer than a turn."""

    def __init__(self, response_format: AnswerFormat, make: Make = make_env) -> None:
        self._format, self._make = response_format, make
        self._free: dict[tuple[str, Split], list[AnyEnv]] = {}

    def take(self, env: str, split: Split) -> AnyEnv:
        """Return an environment that no other episode uses."""
        free = self._free.get((env, split))
        return free.pop() if free else self._make(env, split, self._format)

    def give_back(self, env: str, split: Split, made: AnyEnv) -> None:
        """Make an environment available to later episodes."""
        self._free.setdefault((env, split), []).append(made)


def documentation(env: str) -> str:
    """Return an environment's specification: the docstring of its class."""
    cls = find_class(env)
    return inspect.getdoc(cls) or "" if is_registered(env) else cls.doc
