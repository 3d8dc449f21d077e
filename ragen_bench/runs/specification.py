"""Specification hashes: scores are comparable if their environments' hashes are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ragen_bench.environments import AnyEnv
from ragen_bench.models.prompt import opening
from ragen_bench.models.tool_messages import functions_of
from ragen_bench.suites import Make, held_out_size, make_env
from ragen_bench.third_party import ThirdPartyEnv
from ragen_bench.two_player import as_two_player, step_by_rule
from ragen_envs.core.drawn import REFERENCE_KEY
from ragen_envs.core.held_out import write
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tools import answer_with

_TRAIN_SEEDS = 16
_PLAYED_SEEDS = 4
_BROKEN = "<answer>Up || nothing"


def spec_hash(
    env: str,
    split: Split,
    response_format: AnswerFormat,
    make: Make = make_env,
    *,
    pictured: bool = False,
) -> str:
    """Return 16 hex digits that change whenever scores become incomparable.

    They cover the variant's parameters, every held-out instance (the first sixteen of train), and
    some scripted episodes: prompts, parsing, rules, rewards, noise and metrics. They also cover the
    replies to a game's `probes`, and the opponent's observations with the rule's replies. For a
    third-party environment they cover the first observations, some random episodes where it lists
    its actions, and the prompt; parts that differ between two plays are left out. The drawn split
    uses a reference draw, since runs of different draws are comparable.

    Args:
        env: Full id of the environment.
        split: Split of the instances.
        response_format: Format of the responses.
        make: Makes the environment; a training environment may be modified.
        pictured: Whether the board is shown as pictures and not in the texts.
    """
    if split == "drawn":
        environment = make_env(env, split, response_format, draw=REFERENCE_KEY, pictured=pictured)
    elif pictured:
        environment = make_env(env, split, response_format, pictured=True)
    else:
        environment = make(env, split, response_format)
    if isinstance(environment, ThirdPartyEnv):
        return _third_party_hash(environment, [env, split])
    instances = [
        environment.get_instance(seed)
        for seed in range(_TRAIN_SEEDS if split == "train" else held_out_size(env))
    ]
    parts: list[Any] = [env, split, repr(environment.variant)]
    parts.append(write(environment.write_instance(instance) for instance in instances))
    for seed in range(_PLAYED_SEEDS):
        for player in ("random", "oracle", "broken"):
            parts.append(_episode(environment, seed, player))
    parts.extend(_probed(environment, seed) for seed in range(_PLAYED_SEEDS) if environment.probes)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def suite_hash(spec_hashes: Mapping[str, tuple[int, str]], max_tokens: int) -> str:
    """Return 16 hex digits that are equal for comparable suite scores.

    Args:
        spec_hashes: Number of instances and specification hash by environment.
        max_tokens: Token limit of a response.
    """
    parts = json.dumps([sorted(spec_hashes.items()), max_tokens])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _third_party_hash(env: ThirdPartyEnv, named: list[Any]) -> str:
    shown = [
        [
            [env.reset(seed=seed) for seed in range(_TRAIN_SEEDS)],
            [_episode(env, seed, "random") for seed in range(_PLAYED_SEEDS)],
        ]
        for _ in range(2)
    ]
    same = [first for first, second in zip(*shown, strict=True) if first == second]
    parts = json.dumps([*named, opening(None), env.budget.max_turns, same])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _episode(env: AnyEnv, seed: int, player: str) -> list[Any]:
    """Return all observable values of an episode."""
    stream = RandomStream("specification", seed)
    shown: list[Any] = [env.reset(seed=seed, options={"noise_seed": seed})]
    while env.legal_actions:
        if player == "broken":
            answer = _BROKEN
        else:
            answer = random_answer(env, stream) if player == "random" else oracle_answer(env)
        shown.extend(_turn(env, answer))
    return shown


def _probed(env: TextEnv[Any, Any], seed: int) -> list[Any]:
    """Return all observable values of episodes that play the probes, one per turn."""
    left = list(reversed(env.probes))
    shown: list[Any] = []
    while left:
        shown.append(env.reset(seed=seed, options={"noise_seed": seed}))
        while left and env.legal_actions:
            shown.extend(_turn(env, answer_with(env, [left.pop()])))
    return shown


def _turn(env: AnyEnv, answer: str) -> list[Any]:
    """Return all observable values before and after a turn."""
    shown: list[Any] = []
    if functions := functions_of(env):
        shown.append(functions)
    if game := as_two_player(env):
        shown.append(game.opponent_reads(answer))
    shown.append(step_by_rule(env, answer))
    if isinstance(env, TextEnv) and env.pictured:
        shown.append(hashlib.sha256(env.picture().tobytes()).hexdigest())
    return shown
