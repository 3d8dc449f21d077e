"""Makes PettingZoo environments of the suite's ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.arguments import one_of
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.pettingzoo.duel import DuelEnv
from ragen_envs.integrations.pettingzoo.seats import Observation, names_of
from ragen_envs.integrations.pettingzoo.shared import SharedParallelEnv, SharedTurnsEnv
from ragen_envs.integrations.pettingzoo.turns import DuelTurnsEnv, InOrder
from ragen_envs.registration import IDS, load_class

Mode = Literal["shared", "duel"]
"""How several agents play: one game in turns, or the same instance each."""
MODES: tuple[Mode, ...] = get_args(Mode)
"""All of them."""


def aec_env(
    id: str,
    agents: int | Sequence[str] = 2,
    mode: Mode = "shared",
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    render_mode: str | None = None,
) -> AECEnv[str, Observation, str]:
    """Return a game in which the agents answer one after the other.

    Args:
        id: one of `ragen_envs.IDS`.
        agents: how many play, or their names.
        mode: "shared", one room whose turns the agents take in rotation; or "duel", a copy of
            the same instance for each, see `DuelEnv`.
        split: as for `gymnasium.make`.
        response_format: as for `gymnasium.make`.
        render_mode: None or "ansi".

    Raises:
        ValueError: for an argument that is none of these, a number of agents that the game or
            the mode does not allow, or a name twice.
        TypeError: if `agents` is neither an int nor a sequence of str.
    """
    env, names = _text_env(id, mode, split, response_format, render_mode), names_of(agents)
    return InOrder(
        DuelTurnsEnv(DuelEnv(env, names)) if mode == "duel" else SharedTurnsEnv(env, names)
    )


def parallel_env(
    id: str,
    agents: int | Sequence[str] = 2,
    mode: Mode = "shared",
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    render_mode: str | None = None,
) -> ParallelEnv[str, Observation, str]:
    """Return a game in which the agents answer at the same time.

    In the mode "shared" the answers are run in the agents' order, each as a turn of its own.
    Arguments and errors are those of `aec_env`.
    """
    env, names = _text_env(id, mode, split, response_format, render_mode), names_of(agents)
    return DuelEnv(env, names) if mode == "duel" else SharedParallelEnv(env, names)


def _text_env(
    id_: str,
    mode: str,
    split: Split,
    response_format: AnswerFormat,
    render_mode: str | None,
) -> TextEnv[Any, Any]:
    if id_ not in IDS:
        raise ValueError(f"id {id_!r} is unknown; choose one of {list(IDS)}")
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown; choose one of {list(MODES)}")
    one_of("render_mode", render_mode, (None, "ansi"))  # a picture is of one board
    name = id_.partition("/")[2]
    env: TextEnv[Any, Any] = load_class(id_)(name, split, response_format, render_mode)
    return env
