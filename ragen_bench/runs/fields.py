"""The fields that a run's files must have, and of what type; everything else in them is free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ragen_bench.episodes.episode import Outcome
from ragen_bench.opponents.two_player import needs_opponent, reply_counts
from ragen_bench.runs.differences import brief
from ragen_bench.suites import has_split, held_out_size
from ragen_envs.instances import SPLITS
from ragen_envs.protocol import RESPONSE_FORMATS
from ragen_envs.registration import IDS, OPPONENT_IDS

Fields = Mapping[str, str]
_TYPES: dict[str, tuple[type, ...]] = {
    "a text": (str,),
    "a whole number": (int,),
    "a number": (int, float),
    "true or false": (bool,),
    "a list": (list,),
    "an object": (dict,),
}
_LARGEST = 1e15
"""Far beyond every figure of a run, and small enough for sums to stay finite."""

RUN: Fields = {
    "model": "a text",
    "model_identity": "an object",
    "slots": "a whole number",
    "group_size": "a whole number",
    "suite": "a text",
    "suite_version": "a whole number",
    "suite_hash": "a text",
    "split": "a text",
    "samples": "a whole number",
    "seed": "a whole number",
    "temperature": "a number",
    "max_tokens": "a whole number",
    "response_format": "a text",
    "constrained": "true or false",
    "prompt_hash": "a text",
    "envs": "a list",
    "versions": "an object",
    "command": "a text",
}
_RUN_ENV: Fields = {"id": "a text", "instances": "a whole number", "spec_hash": "a text"}
_OPPONENT: Fields = {
    "model": "a text",
    "model_identity": "an object",
    "response_format": "a text",
}
EPISODE: Fields = {
    "env": "a text",
    "split": "a text",
    "index": "a whole number",
    "sample": "a whole number",
    "outcome": "a text",
    "success": "true or false",
    "score": "a number",
    "ceiling": "a number",
    "return": "a number",
    "turns": "a list",
    "final_observation": "a text",
}
_TURN: Fields = {
    "observation": "a text",
    "answer": "a text",
    "reasoning": "a text",
    "actions": "a list",
    "reward": "a number",
    "format_is_valid": "true or false",
    "action_is_valid": "true or false",
    "answer_is_example": "true or false",
    "finish": "a text",
    "prompt_tokens": "a whole number",
    "completion_tokens": "a whole number",
}
_REPLY: Fields = {
    "observation": "a text",
    "answer": "a text",
    "reasoning": "a text",
    "finish": "a text",
    "prompt_tokens": "a whole number",
    "completion_tokens": "a whole number",
    "readable": "true or false",
}
_TIMING: Fields = {"env": "a text", "seconds": "a number", "elapsed": "a number"}
_FAULT: Fields = {
    "env": "a text",
    "split": "a text",
    "index": "a whole number",
    "sample": "a whole number",
    "reason": "a text",
}


def run_problem(config: dict[str, Any]) -> str | None:
    """Return what is wrong with the content of run.json, or None."""
    found = _problem(config, RUN) or _items_problem(config["envs"], _RUN_ENV, "environment")
    return found or _settings_problem(config) or _envs_problem(config) or _opponent_problem(config)


def _settings_problem(config: dict[str, Any]) -> str | None:
    if config["split"] not in SPLITS:
        return f"names the unknown split {brief(config['split'])}"
    if config["response_format"] not in RESPONSE_FORMATS:
        return f"names the unknown format {brief(config['response_format'])}"
    if config["split"] == "sealed" and not _is(config.get("sealed_key_hash"), "a text"):
        return "is of the sealed split and lacks sealed_key_hash"
    if not _is(config.get("machine", {}), "an object"):  # runs of older versions lack it
        return "has 'machine' that is not an object"
    history = config.get("history")
    if history is not None and not (_is(history, "a whole number") and history >= 0):
        return f"has 'history' {brief(history)}, which is no number of turns"
    for name, least in (("seed", 0), ("samples", 1), ("slots", 1), ("group_size", 1)):
        if config[name] < least:
            return f"has {name!r} below {least}"
    return None


def _envs_problem(config: dict[str, Any]) -> str | None:
    for env in config["envs"]:
        if env["id"] not in (*IDS, *OPPONENT_IDS):
            return f"names the unknown environment {brief(env['id'])}"
        if env["instances"] < 1:
            return f"names no instance of {env['id']}"
        if not has_split(env["id"], config["split"]):
            return f"is of the sealed split, which {env['id']} has not"
        size = held_out_size(env["id"])
        if config["split"] != "train" and env["instances"] > size:
            return f"names more than {size} instances of {env['id']}"
    if len({env["id"] for env in config["envs"]}) < len(config["envs"]):
        return "names an environment twice"
    return None


def _opponent_problem(config: dict[str, Any]) -> str | None:
    for env in config["envs"]:
        if needs_opponent(env["id"]) != ("opponent" in config):
            return f"names {'an' if 'opponent' in config else 'no'} opponent in {env['id']}"
    if "opponent" not in config:
        return None
    found = _object_problem(config, "opponent", _OPPONENT)
    if found or config["opponent"]["response_format"] in RESPONSE_FORMATS:
        return found
    return f"names the unknown format {brief(config['opponent']['response_format'])}"


def episode_problem(episode: dict[str, Any]) -> str | None:
    """Return what is wrong with the fields of a recorded episode, or None."""
    found = _problem(episode, EPISODE) or _out_of_range(episode) or _counts_problem(episode)
    # The first prompt may leave no room for an answer already.
    if found or (episode["outcome"] == "context_overflow" and not episode["turns"]):
        return found
    return _items_problem(episode["turns"], _TURN, "turn") or _replies_problem(episode["turns"])


def _replies_problem(turns: list[dict[str, Any]]) -> str | None:
    """Return what is wrong with the opponent's replies, where it was asked."""
    for number, turn in enumerate(turns, start=1):
        found = _object_problem(turn, "opponent", _REPLY) if "opponent" in turn else None
        if found:
            return f"has turn {number}, which {found}"
    return None


def _counts_problem(episode: dict[str, Any]) -> str | None:
    """Return what is wrong with the counts of an opponent's replies, where there is one."""
    if not needs_opponent(episode["env"]):
        return None
    counts = reply_counts(episode["env"])
    fields = {**{count.name: "a whole number" for count in counts}, "overflowed": "true or false"}
    if found := _object_problem(episode, "opponent", fields):
        return found
    left = {count.name: episode["opponent"][count.name] for count in counts}
    for count in counts:
        if count.part_of is not None:
            left[count.part_of] -= episode["opponent"][count.name]
    # The parts of a count exclude one another.
    if min(*left.values(), *(episode["opponent"][count.name] for count in counts)) < 0:
        return "has 'opponent', whose counts cannot be"
    return None


def _out_of_range(episode: dict[str, Any]) -> str | None:
    for name in ("score", "ceiling"):
        if not 0 <= episode[name] <= 1:
            return f"has {name!r} that is not between 0 and 1"
    if episode["outcome"] not in get_args(Outcome):
        return f"has the unknown outcome {brief(episode['outcome'])}"
    return None


def timing_problem(timing: dict[str, Any]) -> str | None:
    """Return what is wrong with the fields of a line of timings.jsonl, or None."""
    return _problem(timing, _TIMING)


def fault_problem(fault: dict[str, Any]) -> str | None:
    """Return what is wrong with the fields of a line of faults.jsonl, or None."""
    return _problem(fault, _FAULT)


def _problem(record: dict[str, Any], fields: Fields) -> str | None:
    missing = [name for name in fields if name not in record]
    if missing:
        return f"lacks {', '.join(missing)}"
    for name, wanted in fields.items():
        if not _is(record[name], wanted):
            return f"has {name!r} that is not {wanted}"
    return None


def _object_problem(record: dict[str, Any], name: str, fields: Fields) -> str | None:
    value = record.get(name)
    found = _problem(value, fields) if isinstance(value, dict) else "is not an object"
    return f"has {name!r}, which {found}" if found else None


def _items_problem(items: list[Any], fields: Fields, name: str) -> str | None:
    if not items:
        return f"has no {name}"
    for number, item in enumerate(items, start=1):
        found = _problem(item, fields) if isinstance(item, dict) else "is not an object"
        if found:
            return f"has {name} {number}, which {found}"
    return None


def _is(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):  # Python counts True as a number, the files do not.
        return wanted == "true or false"
    if isinstance(value, int | float) and not abs(value) < _LARGEST:  # NaN is not less either.
        return False
    return isinstance(value, _TYPES[wanted])
