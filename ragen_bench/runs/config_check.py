"""Whether run.json can be, and whether it says what this version of the suite computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragen_bench.episodes.prompt import prompt_hash
from ragen_bench.errors import UserError
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.directory import SCHEMA, Record
from ragen_bench.runs.fields import run_problem
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_envs.sealed import open_key


def config_problem(config: Any) -> str | None:
    """Return why no run can have this configuration, or None."""
    if not isinstance(config, dict) or config.get("schema") != SCHEMA:
        return f"is not of schema {SCHEMA}"
    return run_problem(config)


def config_differences(config: Record) -> Iterator[str]:
    """Yield what run.json says differently from what this version of the suite computes.

    The specification of every environment, the prompt, the whole suite, and for the sealed split
    the key at hand, each by its hash.

    Raises:
        UserError: if the configuration itself cannot be.
        SealedKeyError: for a run of the sealed split without a key.
    """
    problem = config_problem(config)
    if problem:
        raise UserError(f"run.json {problem}", exit_code=1)
    split, response_format = config["split"], config["response_format"]
    envs = {
        env["id"]: (env["instances"], spec_hash(env["id"], split, response_format))
        for env in config["envs"]
    }
    opponent_format = config["opponent"]["response_format"] if "opponent" in config else None
    computed = {
        "prompt_hash": prompt_hash(response_format, config.get("history"), opponent_format),
        "suite_hash": suite_hash(envs, config["max_tokens"]),
        **({"sealed_key_hash": open_key()} if split == "sealed" else {}),
        "envs": [
            {"id": env["id"], "instances": env["instances"], "spec_hash": envs[env["id"]][1]}
            for env in config["envs"]
        ],
    }
    for name, value in computed.items():
        different = first_difference(config[name], value, name)
        if different:
            yield different
