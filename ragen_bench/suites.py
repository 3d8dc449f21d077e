"""Named sets of environments, and the environments by their ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from ragen_bench.environments import AnyEnv, class_of, is_own, is_text_env
from ragen_bench.errors import UserError, nearest, unknown
from ragen_bench.foreign import game_of, name_environment
from ragen_bench.two_player import needs_opponent
from ragen_envs.core.instances import HELD_OUT_SIZE, SPLITS, Split
from ragen_envs.core.protocol import ANSWER_FORMATS, RESPONSE_FORMATS, AnswerFormat, ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.registration import IDS, NAMESPACE, OPPONENT_IDS


@dataclass(frozen=True)
class Suite:
    """A named set of environments.

    Attributes:
        version: rises when anything below changes.
        about: one line for `ragen-bench list`.
        chosen: how many instances of each environment, from seed 0 on; None for all held-out ones.
        max_tokens: tokens in one answer at most, unless the command says otherwise.
        samples: episodes on each instance that a leaderboard entry needs at least.
    """

    version: int
    about: str
    chosen: dict[str, int | None]
    max_tokens: int = 200
    samples: int = 1

    @cached_property
    def instances(self) -> dict[str, int]:
        """How many instances of each environment, from seed 0 on."""
        return {env: count or held_out_size(env) for env, count in self.chosen.items()}


_FAMILIES = ("Bandit", "BanditRev", "Sokoban", "SokobanLarge", "SokobanNewVocab", "FrozenLake")
"""The tasks of the RAGEN paper (arXiv 2504.20073, section 3.1 and table 2)."""
_ONE_OF_EACH = (
    *("Bandit", "Sokoban", "FrozenLake", "WebShop", "TwentyQuestions"),
    *("Cube", "Minesweeper", "Mastermind", "Countdown", "Desk"),
)
"""The first variant of each family of games."""
SUITES = {
    "quick": Suite(
        1,
        "Bandit, Sokoban and FrozenLake in a few minutes on two cores",
        {"ragen/Bandit-v0": 32, "ragen/Sokoban-v0": 16, "ragen/FrozenLake-v0": 16},
        max_tokens=64,
    ),
    "core": Suite(
        1,
        "the families of the RAGEN paper, all held-out instances",
        {f"{NAMESPACE}/{name}-v0": None for name in _FAMILIES},
    ),
    "core-2": Suite(
        1,
        "one environment of each family, all held-out instances",
        {f"{NAMESPACE}/{name}-v0": None for name in _ONE_OF_EACH},
    ),
    "full": Suite(7, "every environment, all held-out instances", dict.fromkeys(IDS)),
}


def select(
    suite: str | None, envs: Sequence[str] | None, limit: int | None, opposed: bool = False
) -> dict[str, int]:
    """Return the environments to evaluate and how many instances of each.

    Args:
        suite: a name from `SUITES`, or None.
        envs: ids that take the place of a suite; the namespace may be left out.
        limit: at most so many instances of each.
        opposed: whether there is an opponent, which all environments need then and else none.

    Raises:
        UserError: for an unknown suite or id, both at once, a limit that is out of range, or an
            opponent that is missing or too much.
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
        if name not in SUITES:
            raise unknown("suite", name, SUITES)
        if opposed:
            raise _no_opponent_in(f"the suite {name}")
        chosen = SUITES[name].instances
    return {env: min(count, limit or count) for env, count in chosen.items()}


def env_id(name: str, opposed: bool | None = False) -> str:
    """Return the full id of an environment.

    Args:
        name: the namespace may be left out; or another package's, as `name_environment` takes it.
        opposed: whether it must be one that needs an opponent, or one that needs none; None for
            either.

    Raises:
        UserError: if there is none of this name, or it is of the other kind.
    """
    full = name if "/" in name or ":" in name else f"{NAMESPACE}/{name}"
    known = (*IDS, *OPPONENT_IDS)
    if not full.startswith(f"{NAMESPACE}/"):
        if opposed:
            raise _no_opponent_in(full)
        return name_environment(full)
    if full not in known:
        # Without what all ids share, which would make any two of them alike.
        bare = {_bare(each): each for each in known}
        raise unknown("environment", name, known, bare.get(nearest(_bare(full), bare) or ""))
    if opposed is False and needs_opponent(full):
        raise UserError(
            f"{full} is played against another model, in runs of its own: "
            f"ragen-bench evaluate MODEL --env {_short(full)} --opponent MODEL"
        )
    if opposed and not needs_opponent(full):
        raise _no_opponent_in(full)
    return full


def _no_opponent_in(what: str) -> UserError:
    ids = " or ".join(f"--env {_short(each)}" for each in OPPONENT_IDS)
    return UserError(f"nobody plays against the model in {what}: --opponent goes with {ids} alone")


def _short(env: str) -> str:
    return env.removeprefix(f"{NAMESPACE}/")


def _bare(name: str) -> str:
    return name.lower().removeprefix(f"{NAMESPACE}/").removesuffix("-v0")


def states_form(env: str) -> bool:
    """Return whether another package's environment states the form of its answers itself.

    Args:
        env: its full id.
    """
    return not is_own(env) and game_of(env).states_form


def plays(player: str, env: str, random_player: bool = False) -> bool:
    """Return whether a scripted player can play an environment; every other model can.

    Args:
        player: "random" needs a list of actions, "oracle" a `TextEnv`.
        env: the environment's full id.
        random_player: whether the user named a function that plays for "random".
    """
    if player not in ("random", "oracle") or is_text_env(env):
        return True
    return player == "random" and (random_player or game_of(env).lists_actions)


def held_out_size(env: str) -> int:
    """Return how many instances each held-out split of an environment has.

    Args:
        env: its full id.
    """
    size: int = class_of(env).held_out_size(_short(env))
    return size


def has_split(env: str, split: Split) -> bool:
    """Return whether an environment has a split; not all can be sealed, or drawn.

    Args:
        env: its full id.
        split: a split.
    """
    if split not in ("sealed", "drawn"):
        return True
    sealable: bool = class_of(env).has_sealed
    return sealable and (split == "sealed" or is_own(env))


def split_name(name: str) -> Split:
    """Return a split.

    Raises:
        UserError: if there is none of this name.
    """
    for split in SPLITS:
        if split == name:
            return split
    raise unknown("split", name, SPLITS)


def answer_format_of(name: str) -> AnswerFormat:
    """Return the form of a player's answers.

    Raises:
        UserError: if no form has this name.
    """
    for answer_format in ANSWER_FORMATS:
        if answer_format == name:
            return answer_format
    raise unknown("format", name, ANSWER_FORMATS)


def response_format_of(name: str) -> ResponseFormat:
    """Return the form of answers that are written out.

    Raises:
        UserError: if no such form has this name.
    """
    for response_format in RESPONSE_FORMATS:
        if response_format == name:
            return response_format
    raise unknown("format", name, RESPONSE_FORMATS)


def make_env(
    env: str,
    split: Split,
    response_format: AnswerFormat,
    opponent_format: ResponseFormat | None = None,
    draw: str = "",
    pictured: bool = False,
) -> AnyEnv:
    """Return an environment; plain construction, as the registry would do it.

    Args:
        env: its full id.
        split: where its instances come from.
        response_format: of the answers.
        opponent_format: of the opponent's answers, if one is asked; the player's if None.
        draw: the key of the drawn split, see `ragen_envs.core.drawn`; "" for the others.
        pictured: whether its texts leave the board out, which pictures show.

    Raises:
        UserError: if the environment has no such split, or the drawn one has no key.
    """
    if not has_split(env, split):
        why = "all of its instances are public" if is_own(env) else "it is another package's"
        raise UserError(
            f"{env} has no split {split!r}, as {why}; "
            "name other environments with --env, or take --split val or test"
        )
    if split == "drawn" and not draw:
        raise UserError(
            "the drawn split is for `ragen-bench evaluate --split drawn --draw FILE` alone; take "
            "--split val or test"
        )
    options: dict[str, Any] = {"draw": draw} if split == "drawn" else {}
    if pictured:
        options["pictured"] = True
    if needs_opponent(env):
        options["opponent_format"] = opponent_format
    made: AnyEnv = class_of(env)(
        _short(env), split=split, response_format=response_format, render_mode="ansi", **options
    )
    return made


def make_text_env(env: str, split: Split, response_format: AnswerFormat) -> TextEnv[Any, Any]:
    """Return an environment that has an oracle and splits, as all of this suite have.

    Raises:
        UserError: if it is another package's and not a `TextEnv`, or has no such split.
    """
    made = make_env(env, split, response_format)
    if not isinstance(made, TextEnv):
        raise UserError(f"{env} is not a TextEnv of ragen_envs, so it has no oracle")
    return made


Make: TypeAlias = Callable[[str, Split, AnswerFormat], AnyEnv]


class EnvPool:
    """Environments that are used again by later episodes: making one takes longer than a turn.

    Args:
        response_format: of the answers.
        make: from an id, a split and a format to an environment.
    """

    def __init__(self, response_format: AnswerFormat, make: Make = make_env) -> None:
        self._format, self._make = response_format, make
        self._free: dict[tuple[str, Split], list[AnyEnv]] = {}

    def take(self, env: str, split: Split) -> AnyEnv:
        """Return an environment that nobody else has."""
        free = self._free.get((env, split))
        return free.pop() if free else self._make(env, split, self._format)

    def give_back(self, env: str, split: Split, made: AnyEnv) -> None:
        """Let the next episode have it."""
        self._free.setdefault((env, split), []).append(made)


def documentation(env: str) -> str:
    """Return an environment's specification, which is its class's docstring."""
    cls = class_of(env)
    return inspect.getdoc(cls) or "" if is_own(env) else cls.doc
