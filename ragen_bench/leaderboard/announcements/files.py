"""Reads announcement and draw files, which may be written by strangers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.rules import explain_refusal
from ragen_bench.leaderboard.schema import (
    Amount,
    Closed,
    EntryRunEnv,
    Long,
    ShortHash,
    read_as,
)
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.checked import read_config
from ragen_bench.runs.config_check import config_differences
from ragen_bench.runs.draws import TIME, Draw, build_announcement, compute_commitment
from ragen_bench.runs.schema import Count, Digits, Flag, Positive, RunConfig, Share, Text
from ragen_envs.core.protocol import AnswerFormat

ANNOUNCEMENT_BYTES = 1 << 18
"""Maximum size of an announcement file."""
DRAW_BYTES = 1 << 19
"""Maximum size of a draw file, which contains the announcement."""
_is_file_name = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\.json").fullmatch


def _check_time(text: str) -> str:
    if datetime.strptime(text, TIME).strftime(TIME) != text:
        raise ValueError(f"is not written as {TIME}")
    return text


class Announcement(Closed):
    """The content of an announcement: the model and settings that run.json will record."""

    version: Annotated[Literal[1], Field(alias="schema")]
    model: Annotated[Long, Field(min_length=1)]
    model_identity: Annotated[JsonObject, Field(max_length=64)]
    suite: Long
    suite_version: Count
    suite_hash: ShortHash
    samples: Positive
    seed: Count
    temperature: Amount
    top_p: Annotated[Share, Field(gt=0)] = 1.0
    max_tokens: Positive
    response_format: AnswerFormat
    history: Count | None
    constrained: Flag
    pictures: Flag = False
    prompt_hash: ShortHash
    envs: Annotated[list[EntryRunEnv], Field(min_length=1, max_length=64)]


class _DrawFile(Closed):
    version: Annotated[Literal[1], Field(alias="schema")]
    announcement: Announcement | None
    commitment: Digits
    value: Digits
    time: Annotated[Text, Field(max_length=20), AfterValidator(_check_time)]


def check_file_name(name: str) -> None:
    """Check the name of an announcement file.

    Raises:
        EntryError: if the name is not portable.
    """
    if not _is_file_name(name):
        raise EntryError(
            f"the announcement is called {name!r}; a name has up to 100 of a-z 0-9 . _ -, a letter "
            "or digit first, and ends in .json"
        )


def render_json(content: Mapping[str, Any]) -> str:
    """Return the text of an announcement or draw file."""
    return json.dumps(content, indent=2) + "\n"


def read_announcement(data: bytes) -> JsonObject:
    """Parse an announcement.

    Each announcement gets one draw, so only the form that `ragen-bench announce` writes is
    accepted. Otherwise a second spelling of the same settings would get a second draw.

    Raises:
        EntryError: if the bytes are not an announcement in that form.
    """
    announcement: JsonObject = _parse(data, ANNOUNCEMENT_BYTES, "the announcement")
    read_as(Announcement.model_validate, announcement, "announcement")
    if len(render_json(announcement)) > ANNOUNCEMENT_BYTES:
        raise EntryError(
            f"the announcement has more than {ANNOUNCEMENT_BYTES:,} bytes in its written form"
        )
    if _has_null(announcement["model_identity"]) or announcement.get("top_p") == 1:
        raise _not_canonical()
    return announcement


def check_announcement(announcement: JsonObject) -> RunConfig:
    """Recompute the hashes of an announcement, and return the configuration of its run.

    Raises:
        EntryError: if this version of ragen-bench cannot have announced it.
    """
    config = read_config(
        {
            **announcement,
            **{"schema": 1, "split": "drawn", "slots": 1, "group_size": 1},
            "draw": {"commitment": compute_commitment(announcement), "value": "0" * 64},
            **{"versions": {}, "command": ""},
        }
    )
    try:
        differences = list(config_differences(config))
    except UserError as error:
        raise EntryError(str(error).replace("run.json", "the announcement")) from None
    if differences:
        raise EntryError(*(f"the announcement's {each}" for each in differences))
    if compute_commitment(build_announcement(config.as_json())) != compute_commitment(announcement):
        raise _not_canonical()
    return config


def explain_announced_refusal(config: RunConfig) -> str:
    """Return why an announced run cannot be an entry and what to do, or "".

    Args:
        config: Result of `check_announcement`.
    """
    return (explain_refusal(config) or "").replace("the run", "the announced run", 1)


def read_draw(data: bytes) -> Draw:
    """Parse a draw file.

    Raises:
        EntryError: if it is not a draw, or its announcement does not match its commitment.
    """
    content = _parse(data, DRAW_BYTES, "the draw")
    read_as(_DrawFile.model_validate, content, "draw")
    draw = Draw(content["announcement"], content["commitment"], content["value"], content["time"])
    if draw.announcement is not None and compute_commitment(draw.announcement) != draw.commitment:
        raise EntryError(
            "the draw's announcement does not match its commitment: it was changed after the draw"
        )
    return draw


def read_draw_file(file: Path) -> Draw:
    """Read the draw file that a user names.

    Raises:
        UserError: if the file cannot be read or is not a draw.
    """
    try:
        with file.open("rb") as stream:
            return read_draw(stream.read(DRAW_BYTES + 1))
    except OSError as error:
        raise UserError(f"the draw {file} cannot be read: {error.strerror}") from None
    except EntryError as error:
        raise UserError(f"{file} is not a draw: {error}") from None


def _not_canonical() -> EntryError:
    return EntryError(
        "the announcement is not in the form that `ragen-bench announce` writes; send its output"
    )


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None


def _parse(data: bytes, limit: int, name: str) -> Any:
    if len(data) > limit:
        raise EntryError(f"{name} has more than the maximum of {limit:,} bytes")
    try:
        return parse(data)
    except BadJsonError as error:
        raise EntryError(f"{name} {error}") from None
