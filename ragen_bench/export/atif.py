"""Export of episodes in ATIF, the Agent Trajectory Interchange Format, one file per episode.

RFC 0001 of Harbor (https://github.com/harbor-framework/harbor) defines it; this is version 1.8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ragen_bench.export.episodes import NO_EPISODES, Source, new_export
from ragen_bench.json_types import JsonObject
from ragen_bench.models.chat_messages import replace_surrogates
from ragen_bench.models.prompt import conversation
from ragen_bench.runs.schema import EpisodeRecord, TurnRecord
from ragen_bench.suites import states_form
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.tool_calls import Call, CallError, parse_calls

SCHEMA = "ATIF-v1.8"
_find_version = cache(version)
_FUNCTION = "act"
_EPISODE_FIELDS = (
    *("env", "split", "index", "sample", "instance", "outcome"),
    *("success", "score", "return", "ceiling", "optimal_length"),
)
_TURN_FIELDS = ("reward", "terminated", "truncated", "format_is_valid", "action_is_valid")
_ESTIMATED: JsonObject = {"extra": {"tokens_estimated": True}}
_OPENING_NOTE = (
    "An exchange that is copied context shows the form of an answer, in no game of the suite."
)


def export(source: Source, directory: Path) -> int:
    """Write each episode to a file of a new or empty DIRECTORY; return their number.

    Raises:
        UserError: If the directory is not empty, or the source has no episode.
    """
    with new_export(directory) as draft:
        written = 0
        for episode in source.episodes:
            text = json.dumps(
                replace_surrogates(build_trajectory(episode, source)), indent=1, ensure_ascii=False
            )
            # In the sort order of the episodes, without slashes and colons.
            env = episode.env.replace("/", "_").replace(":", "_")
            name = f"{env}_{episode.split}_{episode.index:05}_{episode.sample:03}.json"
            (draft / name).write_text(text + "\n", encoding="utf-8")
            written += 1
        if not written:
            raise NO_EPISODES
    return written


def build_trajectory(episode: EpisodeRecord, source: Source) -> JsonObject:
    """Return the JSON object of a trajectory.

    The first observation is a user step; each later one is the result of the step before it. With
    the format "tools" the tool calls are those of the response; otherwise each action is a call of
    the function `act`. A turn's observation is the result of its last call. Token counts are
    omitted if the model reports none, and marked where they are estimated.
    """
    fields = episode.as_json()
    before = _opening_steps(episode, source)
    turns = [*_turn_steps(episode, len(before) + 1, source.response_format)]
    tokens: JsonObject = {
        f"total_{name}": sum(getattr(turn, name) for turn in episode.turns)
        for name in ("prompt_tokens", "completion_tokens")
    }
    return {
        "schema_version": SCHEMA,
        "trajectory_id": f"{episode.env}/{episode.split}/{episode.index}/{episode.sample}",
        "agent": {
            "name": "ragen-bench",
            "version": _find_version("ragen-bench"),
            "model_name": source.model,
            "extra": {"response_format": source.response_format, **source.settings},
        },
        "steps": [*before, *turns],
        "notes": " ".join([*[_OPENING_NOTE] * source.has_opening, *source.notes]),
        "final_metrics": {
            **(tokens if any(tokens.values()) else {}),
            **(_ESTIMATED if any(turn.tokens_estimated for turn in episode.turns) else {}),
            "total_steps": len(before) + len(turns),
        },
        "extra": {
            **{name: fields.get(name) for name in _EPISODE_FIELDS},
            **{name: fields[name] for name in ("player", "error") if fields.get(name)},
        },
    }


def _opening_steps(episode: EpisodeRecord, source: Source) -> list[JsonObject]:
    form = None if states_form(episode.env) else source.response_format
    # A context may be full, or a server gone, before the first turn.
    first = episode.turns[0].observation if episode.turns else episode.final_observation
    messages = conversation([first], [], form)
    if not source.has_opening:
        messages = [{"role": "user", "content": first}]
    steps = []
    for number, message in enumerate(messages, 1):
        role = message["role"]
        step: JsonObject = {
            "step_id": number,
            "source": "agent" if role == "assistant" else role,
            "message": message["content"],
        }
        if role == "assistant":
            step["llm_call_count"] = 0
        if role != "system" and number < len(messages):
            step["is_copied_context"] = True
        steps.append(step)
    return steps


def _turn_steps(
    episode: EpisodeRecord, first: int, response_format: AnswerFormat
) -> Iterator[JsonObject]:
    """Yield a step for each turn, numbered from `first`."""
    results = [*(turn.observation for turn in episode.turns), episode.final_observation][1:]
    for number, (turn, result) in enumerate(zip(episode.turns, results, strict=True)):
        step: JsonObject = {
            **{"step_id": first + number, "source": "agent"},
            **_message_and_calls(turn, number, response_format),
        }
        if turn.reasoning:
            step["reasoning_content"] = turn.reasoning
        observation = {"content": result}
        if calls := step.get("tool_calls"):
            observation["source_call_id"] = calls[-1]["tool_call_id"]
        step["observation"] = {"results": [observation]}
        if turn.prompt_tokens or turn.completion_tokens:
            step["metrics"] = {
                "prompt_tokens": turn.prompt_tokens,
                "completion_tokens": turn.completion_tokens,
                **(_ESTIMATED if turn.tokens_estimated else {}),
            }
        fields = {name: getattr(turn, name) for name in _TURN_FIELDS}
        known = {name: value for name, value in fields.items() if value is not None}
        step["extra"] = {**known, "finish": turn.finish}
        yield step


def _message_and_calls(turn: TurnRecord, number: int, response_format: AnswerFormat) -> JsonObject:
    message = turn.answer
    calls = [Call(_FUNCTION, {"action": action}) for action in turn.actions]
    if response_format == "tools":
        with suppress(CallError):
            message, calls = parse_calls(turn.answer)
    tool_calls = [
        {
            "tool_call_id": f"{number}-{index}",
            "function_name": call.name,
            "arguments": call.arguments,
        }
        for index, call in enumerate(calls)
        if isinstance(call.arguments, Mapping)
    ]
    if len(tool_calls) < len(calls):  # ATIF requires arguments to be objects
        message, tool_calls = turn.answer, []
    return {"message": message, "tool_calls": tool_calls} if tool_calls else {"message": message}
