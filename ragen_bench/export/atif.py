"""Episodes as trajectories in ATIF, the Agent Trajectory Interchange Format, a file each.

The format is RFC 0001 of Harbor (https://github.com/harbor-framework/harbor), version 1.8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragen_bench.export.episodes import (
    NOTHING,
    Source,
    check_new,
    encodable,
    shown_before,
    whole_conversation,
)
from ragen_bench.runs.atomic import replacing_folder
from ragen_bench.runs.schema import EpisodeRecord, Object, TurnRecord
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.tool_calls import Call, CallError, parse_calls

SCHEMA = "ATIF-v1.8"
_FUNCTION = "act"
_OF_EPISODE = (
    *("env", "split", "index", "sample", "instance", "outcome"),
    *("success", "score", "return", "ceiling", "optimal_length"),
)
_OF_TURN = ("reward", "terminated", "truncated", "format_is_valid", "action_is_valid")
_OPENING = (
    "An exchange that is copied context shows the form of an answer, in no game of the suite."
)


def export(source: Source, directory: Path) -> int:
    """Write each episode to a file of DIRECTORY; return how many.

    Args:
        source: of a run or the oracle.
        directory: new or empty.

    Raises:
        UserError: if the directory is not empty, or there is no episode.
    """
    check_new(directory)
    with replacing_folder(directory.resolve()) as draft:
        written = 0
        for episode in source.episodes:
            text = json.dumps(encodable(trajectory(episode, source)), indent=1, ensure_ascii=False)
            (draft / _name(episode)).write_text(text + "\n", encoding="utf-8")
            written += 1
        if not written:
            raise NOTHING
    return written


def trajectory(episode: EpisodeRecord, source: Source) -> Object:
    """Return an episode as the JSON object of a trajectory.

    Observations are the results of the step before them, the first one is a step of the user. In
    the form "tools" calls are those of the answer, otherwise each action is a call of the function
    `act`; the results of a turn, which are one text, are those of its last call. Counts of tokens
    are left out where the model told none.

    Args:
        episode: that is told.
        source: that it is of.
    """
    of_episode = episode.as_json()
    before = _before(episode, source.response_format)
    turns = [*_turns(episode, len(before) + 1, source.response_format)]
    tokens = {
        f"total_{name}": sum(getattr(turn, name) for turn in episode.turns)
        for name in ("prompt_tokens", "completion_tokens")
    }
    counted = tokens if any(tokens.values()) else {}
    return {
        "schema_version": SCHEMA,
        "trajectory_id": f"{episode.env}/{episode.split}/{episode.index}/{episode.sample}",
        "agent": {
            "name": "ragen-bench",
            "version": version("ragen-bench"),
            "model_name": source.model,
            "extra": {"response_format": source.response_format, **source.settings},
        },
        "steps": [*before, *turns],
        "notes": " ".join([_OPENING, *source.notes]),
        "final_metrics": {**counted, "total_steps": len(before) + len(turns)},
        "extra": {name: of_episode.get(name) for name in _OF_EPISODE},
    }


def _before(episode: EpisodeRecord, response_format: AnswerFormat) -> list[Object]:
    """Return the steps up to the first observation."""
    shown = shown_before(episode, response_format)
    messages = whole_conversation(episode, response_format)[: len(shown) + 1]
    steps = []
    for number, message in enumerate(messages, 1):
        role = message["role"]
        step: Object = {
            "step_id": number,
            "source": "agent" if role == "assistant" else role,
            "message": message["content"],
        }
        if role == "assistant":
            step["llm_call_count"] = 0
        if role != "system" and number <= len(shown):
            step["is_copied_context"] = True
        steps.append(step)
    return steps


def _turns(episode: EpisodeRecord, first: int, response_format: AnswerFormat) -> Iterator[Object]:
    """Return a step for each turn.

    Args:
        episode: whose turns.
        first: the number of the first step.
        response_format: of the answers.
    """
    results = [turn.observation for turn in episode.turns[1:]] + [episode.final_observation]
    for number, (turn, result) in enumerate(zip(episode.turns, results, strict=True)):
        step: Object = {
            **{"step_id": first + number, "source": "agent"},
            **_calling(turn, number, response_format),
        }
        if turn.reasoning:
            step["reasoning_content"] = turn.reasoning
        observed = {"content": result}
        if calls := step.get("tool_calls"):
            observed["source_call_id"] = calls[-1]["tool_call_id"]
        step["observation"] = {"results": [observed]}
        if turn.prompt_tokens or turn.completion_tokens:
            step["metrics"] = {
                "prompt_tokens": turn.prompt_tokens,
                "completion_tokens": turn.completion_tokens,
            }
        step["extra"] = {**_told(turn), "finish": turn.finish}
        yield step


def _calling(turn: TurnRecord, number: int, response_format: AnswerFormat) -> Object:
    """Return the message and the calls of a turn.

    Args:
        turn: whose answer, in the form "tools", holds its calls.
        number: of the turn, with which the names of its calls begin.
        response_format: of the answer.
    """
    message = turn.answer
    calls = [Call(_FUNCTION, {"action": action}) for action in turn.actions]
    if response_format == "tools":
        with suppress(CallError):
            message, calls = parse_calls(turn.answer)
    told = [
        {
            "tool_call_id": f"{number}-{place}",
            "function_name": call.name,
            "arguments": call.arguments,
        }
        for place, call in enumerate(calls)
        if isinstance(call.arguments, Mapping)
    ]
    if len(told) < len(calls):  # the format knows no arguments but objects
        message, told = turn.answer, []
    return {"message": message, "tool_calls": told} if told else {"message": message}


def _told(turn: TurnRecord) -> dict[str, Any]:
    values = {name: getattr(turn, name) for name in _OF_TURN}
    return {name: value for name, value in values.items() if value is not None}


def _name(episode: EpisodeRecord) -> str:
    """Return a name that sorts as the episodes do; an id's slash and colon are no part of it."""
    env = episode.env.replace("/", "_").replace(":", "_")
    return f"{env}_{episode.split}_{episode.index:05}_{episode.sample:03}.json"
