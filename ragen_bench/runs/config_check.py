"""Checks run.json: whether a run can have it, and whether this version computes what it says."""

from __future__ import annotations

from collections.abc import Iterator

from ragen_bench.environments import is_known
from ragen_bench.errors import UserError
from ragen_bench.models.prompt import prompt_hash
from ragen_bench.models.random_player import find_random_player
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import ChosenEnv, Object, RunConfig, RunEnv
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_bench.suites import has_split, held_out_size
from ragen_bench.two_player import needs_opponent
from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.making import board_ids


def config_problem(config: RunConfig) -> str | None:
    """Return why no run of the known environments can have this configuration, or None."""
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
    """Return why no run with the configuration can play an environment as it says, or None."""
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


def _random_player(config: RunConfig) -> Object:
    name = config.random_player
    return {"random_player_identity": find_random_player(name).identity} if name else {}


def _choice_problem(split: Split, env: RunEnv) -> str | None:
    """Return why a run cannot have chosen the instances that it names, or None."""
    if isinstance(env.played, range):
        return None
    if split != "train":
        return f"chooses instances of {env.id}, which is for the train split"
    if len(set(env.played)) != env.instances:
        return f"chooses other than {env.instances} instances of {env.id}"
    return None


def _remedy(env: str) -> str:
    """Return what to do about an id that could be another package's."""
    if env.startswith(f"{NAMESPACE}/") or "/" not in env:
        return ""
    return f" (if it is another package's and you trust it, add --env {brief(env)} to import it)"


def config_differences(config: RunConfig) -> Iterator[str]:
    """Yield what run.json says differently from what this version of the suite computes.

    The specification of every environment, the prompt, the whole suite, for the sealed split the
    key at hand, and the module of a random player that the user named, each by its hash.

    Raises:
        UserError: if no run can have the configuration, or it names a random player and the user
            did not.
        SealedKeyError: for a run of the sealed split without a key.
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
