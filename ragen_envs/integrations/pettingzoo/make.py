"""Makes PettingZoo environments from the suite's ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.arguments import one_of
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.integrations.pettingzoo.agents import Observation, OrderCheck, agent_names
from ragen_envs.integrations.pettingzoo.modes import (
    DuelEnv,
    DuelTurnsEnv,
    SharedParallelEnv,
    SharedTurnsEnv,
)
from ragen_envs.registration import all_ids, load_class

Mode = Literal["shared", "duel"]
"""Whether the agents share one game, or each plays a copy of the same instance."""
MODES: tuple[Mode, ...] = get_args(Mode)
"""Every `Mode`."""


def aec_env(
    id: str,
    agents: int | Sequence[str] = 2,
    mode: Mode = "shared",
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    render_mode: str | None = None,
) -> AECEnv[str, Observation, str]:
    """Return a game in which the agents respond one after the other.

    The id is one of `ragen_envs.IDS`, or that of an installed game; `agents` their number or names.
    The mode is "shared" for one game whose turns the agents take in rotation, "duel" for a copy of
    the same instance each, see `DuelEnv`. `render_mode` is None or "ansi".

    Raises:
        ValueError: An argument is invalid, the game or the mode does not allow the number of
            agents, or a name occurs twice.
        TypeError: `agents` is neither an int nor a sequence of str.
    """
    env, names = _text_env(id, mode, split, response_format, render_mode), agent_names(agents)
    return OrderCheck(
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
    """Return a game in which the agents respond at the same time.

    In the mode "shared" the responses run in the agents' order, each as a turn. Arguments and
    errors are those of `aec_env`.
    """
    env, names = _text_env(id, mode, split, response_format, render_mode), agent_names(agents)
    return DuelEnv(env, names) if mode == "duel" else SharedParallelEnv(env, names)


def _text_env(
    id_: str,
    mode: str,
    split: Split,
    response_format: AnswerFormat,
    render_mode: str | None,
) -> AnyTextEnv:
    if id_ not in all_ids():
        raise ValueError(f"id {id_!r} is unknown; choose one of {list(all_ids())}")
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown; choose one of {list(MODES)}")
    one_of("render_mode", render_mode, (None, "ansi"))  # an image shows one board only
    name = id_.partition("/")[2]
    env: AnyTextEnv = load_class(id_)(name, split, response_format, render_mode)
    return env
