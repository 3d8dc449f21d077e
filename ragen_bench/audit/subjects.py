"""Subjects of the testing kit for the suite's and third-party environments."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import cast

import gymnasium

from ragen_bench.environments import has_oracle
from ragen_bench.errors import UserError, described
from ragen_bench.suites import held_out_size
from ragen_bench.third_party import register_environment
from ragen_bench.user_code import import_user_module, read_attribute
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.tools import answer_with
from ragen_envs.integrations import external
from ragen_envs.integrations.external.env import SPLITS, ExternalEnv
from ragen_envs.registration import register_third_party_games
from ragen_envs.testing import Subject
from ragen_envs.testing.subject import AnyEnv

_SEEDS = tuple(range(8))


def suite_subject(env: str) -> Subject:
    """Return the subject of a registered environment."""
    bare = _bare(gymnasium.make(env))
    return Subject(
        make_env=env,
        answers=_answer,
        splits={split: partial(_make, env, split) for split in ("train", *SHIPPED_SPLITS)},
        held_out=dict.fromkeys(SHIPPED_SPLITS, held_out_size(env)),
        noise_options=lambda number: {"noise_seed": number},
        stochastic=bare.stochastic,
        oracle=lambda played: oracle_answer(_bare(played)),
        seeds=_SEEDS,
        max_turns=bare.budget.max_turns,
    )


def third_party_subject(name: str) -> Subject:
    """Return the subject of a name on the command line.

    It is an id in Gymnasium's registry, MODULE:ID to import a module first, PACKAGE:NAME of
    `ragen_envs.integrations.external`, or python:MODULE:ATTRIBUTE for a `Subject` or a function
    that makes environments. A UserError says that it does not exist.
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
    if package := external.find_package(name):
        return _package_subject(name, package)
    module, _, id_ = name.rpartition(":")
    if module:
        import_user_module(module, f"{name}: {module}")
    try:
        gymnasium.spec(id_)
    except gymnasium.error.Error as error:
        raise UserError(f"environment {name!r} cannot be found: {described(error)}") from error
    return Subject(make_env=name)


def _package_subject(name: str, package: external.Package) -> Subject:
    """Return the subject of an environment of another package; a UserError if it is unknown."""
    register_environment(name)
    return Subject(
        make_env=partial(external.make, name),
        answers=_package_answer,
        splits={split: partial(external.make, name, split=split) for split in SPLITS},
        split_seeds=16,
        oracle=_next_action if has_oracle(name) else None,
        seeds=_SEEDS[:2],
        max_turns=package.max_turns,
    )


def _package_answer(env: AnyEnv, random: Random) -> str:
    """Return a random listed action, or the solution or a guess without a list."""
    played = cast("ExternalEnv", env.unwrapped)
    return random.choice(played.legal_actions or (*played.best_actions(), "0", "I do not know."))


def _next_action(env: AnyEnv) -> str:
    (action,) = cast("ExternalEnv", env.unwrapped).best_actions()
    return action


def _make(env: str, split: Split) -> AnyEnv:
    if env not in gymnasium.registry:  # in a new process
        register_third_party_games()
    return gymnasium.make(env, split=split)


def _bare(env: AnyEnv) -> AnyTextEnv:
    return cast("AnyTextEnv", env.unwrapped)


def _answer(env: AnyEnv, random: Random) -> str:
    """Return a random valid response with one or two actions."""
    bare = _bare(env)
    count = min(random.randint(1, 2), bare.actions_this_turn)
    actions = [random.choice(bare.legal_actions) for _ in range(count)]
    return answer_with(bare, actions)
