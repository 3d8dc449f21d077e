"""Checks of run.json: whether it is valid, and whether this version computes the same."""

from __future__ import annotations

from collections.abc import Iterator

from ragen_bench.environments import is_known
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.prompt import prompt_hash
from ragen_bench.models.random_player import find_random_player
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import ChosenEnv, RunConfig, RunEnv
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_bench.suites import has_split, held_out_size
from ragen_bench.two_player import needs_opponent
from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.making import board_ids


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
        return f"names the unknown environment {brief(env.id)}{_remedy(env.id)}"
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
    return _choice_problem(config.split, env)


def _random_player(config: RunConfig) -> JsonObject:
    name = config.random_player
    return {"random_player_identity": find_random_player(name).identity} if name else {}


def _choice_problem(split: Split, env: RunEnv) -> str | None:
    """Return why the listed instances are invalid, or None."""
    if isinstance(env.played, range):
        return None
    if split != "train":
        return f"chooses instances of {env.id}, which is for the train split"
    if len(set(env.played)) != env.instances:
        return f"chooses other than {env.instances} instances of {env.id}"
    return None


def _remedy(env: str) -> str:
    """Return advice for an id that may belong to a third-party package."""
    if env.startswith(f"{NAMESPACE}/") or "/" not in env:
        return ""
    return f" (if it is a third-party one and you trust it, add --env {brief(env)} to import it)"


def config_differences(config: RunConfig) -> Iterator[str]:
    """Yield the differences between run.json and the values that this version computes.

    Compares the hashes of every environment's specification, the prompt, the suite, the sealed key
    and the module of the random player.

    Raises:
        UserError: If the configuration is invalid, or it has a random player that the user did not
            name.
        SealedKeyError: If the split is sealed and there is no key.
    """
    problem = config_problem(config)
    if problem:
        raise UserError(f"run.json {problem}", exit_code=1)
    split, response_format = config.split, config.response_format
    envs = {
        env.id: (
            env.instances,
            spec_hash(env.id, split, response_format, pictured=config.pictures),
        )
        for env in config.envs
    }
    computed = {
        "prompt_hash": prompt_hash(response_format, config.history, config.opponent_format),
        "suite_hash": suite_hash(envs, config.max_tokens),
        **({"sealed_key_hash": open_key()} if split == "sealed" else {}),
        **_random_player(config),
        "envs": [{**env.as_json(), "spec_hash": envs[env.id][1]} for env in config.envs],
    }
    recorded = config.as_json()
    for name, value in computed.items():
        difference = first_difference(recorded.get(name), value, name)
        if difference:
            yield difference
