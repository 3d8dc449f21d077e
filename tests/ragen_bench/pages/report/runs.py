"""Runs and summaries to write reports of, made without a model."""

import json

from ragen_bench.runs.checked import read_config
from ragen_bench.runs.directory import open_run

CONFIG = {
    "schema": 1,
    "model": "hf/some-model",
    "model_identity": {"revision": "abc"},
    "slots": 1,
    "group_size": 1,
    "suite": "quick",
    "suite_version": 3,
    "suite_hash": "5u17e",
    "split": "test",
    "samples": 4,
    "seed": 17,
    "temperature": 0.75,
    "max_tokens": 99,
    "response_format": "think",
    "history": None,
    "constrained": False,
    "prompt_hash": "9r0m97",
    "versions": {"python": "3.11.0", "ragen-bench": "0.1.0"},
    "command": "ragen-bench evaluate hf/some-model",
}
SOKOBAN = "ragen/Sokoban-v0"
FROZEN_LAKE = "ragen/FrozenLake-v0"
RULES = (
    "You are playing Sokoban: push the box onto the target.\n"
    "Symbols: # wall, _ floor, O target, X box, √ box on target, P you, S you on target.\n"
    "You move one square at a time. Moving into a box pushes it one square further, if the "
    "square behind it is free. Boxes cannot be pulled, and nothing moves through a wall."
)
BOARD = "#####\n#OXP#\n#####"


def turn(answer, number=1, observation=None, **more):
    first = f"{RULES}\n\n{BOARD}\n\nFirst reason, then answer."
    return {
        "observation": observation or (first if number == 1 else f"Done: {number}.\n{BOARD}"),
        "answer": answer,
        "reasoning": "",
        "actions": ["Left"],
        "reward": -0.5,
        "terminated": False,
        "truncated": False,
        "format_is_valid": True,
        "action_is_valid": True,
        "action_is_effective": True,
        "answer_is_example": False,
        "finish": "stop",
        "prompt_tokens": 1200,
        "completion_tokens": 34,
        **more,
    }


def episode(
    index, sample=0, env=SOKOBAN, answers=("<think>Go.</think><answer>Left</answer>",), **more
):
    turns = [turn(answer, number) for number, answer in enumerate(answers, start=1)]
    return {
        "env": env,
        "split": "test",
        "index": index,
        "sample": sample,
        "rollout": sample,
        "instance": f"digest{index}",
        "ceiling": 1.0,
        "optimal_length": 4,
        "outcome": "truncated",
        "success": False,
        "score": 0.0,
        "return": -0.5 * len(turns),
        "turns": turns,
        "final_observation": f"Done: at last.\n{BOARD.replace('OXP', '√P_')}",
        **more,
    }


def row(env, episodes, **more):
    """The row of an environment in a summary; every figure differs from the others."""
    player = {"episodes": 64, "ceiling": 1.0, "score": 0.1}
    return {
        "env": env,
        "episodes": episodes,
        "success": 0.375,
        "success_interval": [0.25, 0.5625],
        "score": 0.4321,
        "return": -1.5,
        "outcomes": {"success": episodes - 1, "truncated": 1},
        "turns": 2 * episodes,
        "format_valid": 0.912,
        "action_valid": 0.823,
        "answer_is_example": 0.071,
        "prompt_tokens": 123456,
        "completion_tokens": 7890,
        "seconds": 12.34,
        "normalised": -0.25,
        "random": {**player, "success": 0.0625, "success_interval": [0.03125, 0.125]},
        "oracle": {**player, "success": 0.875, "success_interval": [0.75, 0.9375]},
        **more,
    }


def summary(*rows, **more):
    return {
        "model": CONFIG["model"],
        "suite": "quick",
        "split": "test",
        "episodes": sum(row["episodes"] for row in rows),
        "planned": sum(row["episodes"] for row in rows),
        "suite_score": 0.321,
        "envs": list(rows),
        **more,
    }


def make_run(path, episodes, **config):
    """Write a run directory with these episodes."""
    envs = dict.fromkeys(one["env"] for one in episodes) or {SOKOBAN: None}
    listed = [{"id": env, "instances": 256, "spec_hash": f"5pec-{env[6:]}"} for env in envs]
    samples = max((one["sample"] + 1 for one in episodes), default=1)
    run = open_run(path, read_config({**CONFIG, "samples": samples, "envs": listed, **config}))
    lines = "".join(json.dumps(one) + "\n" for one in episodes)
    run.episodes_file.write_text(lines, encoding="ascii")
    run.unlock()
    return run


def summary_of(episodes, **more):
    """A summary that fits the episodes in number, if not in its figures."""
    counts = {}
    for one in episodes:
        counts[one["env"]] = counts.get(one["env"], 0) + 1
    return summary(*(row(env, count) for env, count in counts.items()), **more)
