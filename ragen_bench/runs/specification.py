"""Specification hashes, which make scores comparable, and checks of run.json against them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from ragen_bench.cache import fetch
from ragen_bench.environments import AnyEnv, as_two_player, is_known, needs_opponent, step_by_rule
from ragen_bench.errors import UserError
from ragen_bench.models.chat_messages import functions_of
from ragen_bench.models.prompt import opening, prompt_hash
from ragen_bench.models.random_player import find_random_player
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import ChosenEnv, RunConfig
from ragen_bench.suites import Make, check_split, has_split, held_out_size, make_env
from ragen_bench.third_party import ThirdPartyEnv
from ragen_envs.core.drawn import REFERENCE_KEY
from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.core.held_out import write
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sealed import open_key
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.core.tools import answer_with
from ragen_envs.making import board_ids
from ragen_envs.registration import IDS, OPPONENT_IDS

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
    uses a reference draw, since runs of different draws are comparable. `make` may modify a
    training environment, and `pictured` shows the board as pictures and not in the texts.
    """
    if make is make_env and env in (*IDS, *OPPONENT_IDS):
        check_split(env, split)
        key = open_key() if split == "sealed" else ""
        hashed: str = fetch(
            "specification",
            [env, split, response_format, pictured, key],
            lambda: _compute_hash(env, split, response_format, make, pictured),
        )
        return hashed
    return _compute_hash(env, split, response_format, make, pictured)


def _compute_hash(
    env: str, split: Split, response_format: AnswerFormat, make: Make, pictured: bool
) -> str:
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
    parts: list[object] = [env, split, repr(environment.variant)]
    parts.append(write(environment.write_instance(instance) for instance in instances))
    for seed in range(_PLAYED_SEEDS):
        for player in ("random", "oracle", "broken"):
            parts.append(_episode(environment, seed, player))
    parts.extend(_probed(environment, seed) for seed in range(_PLAYED_SEEDS) if environment.probes)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def suite_hash(spec_hashes: Mapping[str, tuple[int, str]], max_tokens: int) -> str:
    """Return 16 hex digits that are equal for comparable suite scores."""
    parts = json.dumps([sorted(spec_hashes.items()), max_tokens])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _third_party_hash(env: ThirdPartyEnv, named: list[str]) -> str:
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


def _episode(env: AnyEnv, seed: int, player: str) -> list[object]:
    """Return all observable values of an episode."""
    stream = RandomStream("specification", seed)
    shown: list[object] = [env.reset(seed=seed, options={"noise_seed": seed})]
    while env.legal_actions:
        if player == "broken":
            answer = _BROKEN
        else:
            answer = random_answer(env, stream) if player == "random" else oracle_answer(env)
        shown.extend(_turn(env, answer))
    return shown


def _probed(env: AnyTextEnv, seed: int) -> list[object]:
    """Return all observable values of episodes that play the probes, one per turn."""
    left = list(reversed(env.probes))
    shown: list[object] = []
    while left:
        shown.append(env.reset(seed=seed, options={"noise_seed": seed}))
        while left and env.legal_actions:
            shown.extend(_turn(env, answer_with(env, [left.pop()])))
    return shown


def _turn(env: AnyEnv, answer: str) -> list[object]:
    """Return all observable values before and after a turn."""
    shown: list[object] = []
    if functions := functions_of(env):
        shown.append(functions)
    if game := as_two_player(env):
        shown.append(game.opponent_reads(answer))
    shown.append(step_by_rule(env, answer))
    if isinstance(env, TextEnv) and env.pictured:
        shown.append(hashlib.sha256(env.picture().tobytes()).hexdigest())
    return shown


def config_problem(config: RunConfig) -> str | None:
    """Return why a configuration is invalid for the known environments, or None."""
    if config.split == "sealed" and not config.sealed_key_hash:
        return "is of the sealed split and lacks sealed_key_hash"
    if (config.split == "drawn") != (config.draw is not None):
        has = "names a draw" if config.draw else "lacks its draw"
        return f"is of the {config.split} split and {has}"
    for env in config.envs:
        if problem := _env_problem(config, env):
            return problem
    if len({env.id for env in config.envs}) < len(config.envs):
        return "names an environment twice"
    return None


def _env_problem(config: RunConfig, env: ChosenEnv) -> str | None:
    """Return why a configuration is invalid in one environment, or None."""
    if not is_known(env.id):
        unknown = f"names the unknown environment {brief(env.id)}"
        if env.id.startswith(f"{NAMESPACE}/") or "/" not in env.id:
            return unknown
        add = f"add --env {brief(env.id)} to import it"
        return f"{unknown} (if it is a third-party one and you trust it, {add})"
    if env.instances < 1:
        return f"names no instance of {env.id}"
    if not has_split(env.id, config.split):
        return f"is of the {config.split} split, which {env.id} does not have"
    if config.split != "train" and env.instances > held_out_size(env.id):
        return f"names more than {held_out_size(env.id)} instances of {env.id}"
    if needs_opponent(env.id) != (config.opponent is not None):
        return f"names {'an' if config.opponent else 'no'} opponent in {env.id}"
    if config.pictures and env.id not in board_ids():
        return f"shows pictures of {env.id}, which has no board"
    if isinstance(env.played, tuple):
        if config.split != "train":
            return f"chooses instances of {env.id}, which is for the train split"
        if len(set(env.played)) != env.instances:
            return f"chooses other than {env.instances} instances of {env.id}"
    return None


def config_differences(config: RunConfig) -> Iterator[str]:
    """Yield the differences between run.json and the values that this version computes.

    Compares the hashes of every environment's specification, the prompt, the suite, the sealed key
    and the module of the random player. Raises UserError for an invalid configuration or a random
    player that the user did not name, and SealedKeyError without the key of a sealed split.
    """
    if problem := config_problem(config):
        raise UserError(f"run.json {problem}", exit_code=1)
    split, response_format, player = config.split, config.response_format, config.random_player
    envs = {
        env.id: (env.instances, spec_hash(env.id, split, response_format, pictured=config.pictures))
        for env in config.envs
    }
    computed = {
        "prompt_hash": prompt_hash(response_format, config.history, config.opponent_format),
        "suite_hash": suite_hash(envs, config.max_tokens),
        **({"sealed_key_hash": open_key()} if split == "sealed" else {}),
        **({"random_player_identity": find_random_player(player).identity} if player else {}),
        "envs": [{**env.as_json(), "spec_hash": envs[env.id][1]} for env in config.envs],
    }
    recorded = config.as_json()
    for name, value in computed.items():
        if difference := first_difference(recorded.get(name), value, name):
            yield difference
