"""Subjects of the testing kit for the suite's and third-party environments."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import gymnasium

from ragen_bench.errors import UserError, described
from ragen_bench.suites import held_out_size
from ragen_bench.user_code import import_user_module, read_attribute
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.tools import answer_with
from ragen_envs.registration import register_third_party_games
from ragen_envs.testing import Subject

_SEEDS = tuple(range(8))


def suite_subject(env: str) -> Subject:
    """Return the subject of a registered environment."""
    bare = _bare(gymnasium.make(env))
    return Subject(
        make_env=env,
        answers=_answer,
        splits={split: _Factory(env, split) for split in ("train", *SHIPPED_SPLITS)},
        held_out=dict.fromkeys(SHIPPED_SPLITS, held_out_size(env)),
        noise_options=_noise_options,
        stochastic=bare.stochastic,
        oracle=lambda played: oracle_answer(_bare(played)),
        seeds=_SEEDS,
        max_turns=bare.budget.max_turns,
    )


def third_party_subject(name: str) -> Subject:
    """Return the subject of a name on the command line.

    Args:
        name: Id in Gymnasium's registry; MODULE:ID to import a module first; or
            "python:MODULE:ATTRIBUTE" for a `Subject` or a function that makes environments.

    Raises:
        UserError: If there is no such environment.
    """
    parts = name.split(":")
    if parts[0] == "python":
        if len(parts) != 3 or not all(parts):
            raise UserError(f"{name!r} is not of the form python:MODULE:ATTRIBUTE")
        subject = read_attribute(import_user_module(parts[1], name), parts[2], name)
        if isinstance(subject, Subject):
            return subject
        if not callable(subject) or isinstance(subject, gymnasium.Env):
            raise UserError(f"{name} is neither a Subject nor callable to make an environment")
        return Subject(make_env=subject)
    module, _, id_ = name.rpartition(":")
    if module:
        import_user_module(module, f"{name}: {module}")
    try:
        gymnasium.spec(id_)
    except gymnasium.error.Error as error:
        raise UserError(f"environment {name!r} cannot be found: {described(error)}") from error
    return Subject(make_env=name)


class _Factory:
    """Makes an environment of one split; unlike a lambda, it can be pickled."""

    def __init__(self, env: str, split: Split) -> None:
        self._env, self._split = env, split

    def __call__(self) -> gymnasium.Env[Any, Any]:
        if self._env not in gymnasium.registry:  # in a new process
            register_third_party_games()
        return gymnasium.make(self._env, split=self._split)


def _bare(env: gymnasium.Env[Any, Any]) -> AnyTextEnv:
    return cast("AnyTextEnv", env.unwrapped)


def _noise_options(number: int) -> dict[str, Any]:
    return {"noise_seed": number}


def _answer(env: gymnasium.Env[Any, Any], random: Random) -> str:
    """Return a random valid response with one or two actions."""
    bare = _bare(env)
    count = min(random.randint(1, 2), bare.actions_this_turn)
    actions = [random.choice(bare.legal_actions) for _ in range(count)]
    return answer_with(bare, actions)
