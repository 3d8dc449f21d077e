"""The files of announcements and of draws, which a stranger may have written."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.rules import refusal
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
from ragen_bench.runs.draws import TIME, Draw, announcement_of, commitment_of
from ragen_bench.runs.schema import Count, Digits, Flag, Object, Positive, RunConfig, Share, Text
from ragen_envs.core.protocol import AnswerFormat

ANNOUNCEMENT_BYTES = 1 << 18
"""Of the file of an announcement."""
DRAW_BYTES = 1 << 19
"""Of the file of a draw, which holds the announcement."""
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\.json").fullmatch


def _time(text: str) -> str:
    if datetime.strptime(text, TIME).strftime(TIME) != text:
        raise ValueError(f"is not written as {TIME}")
    return text


class Announcement(Closed):
    """The content of an announcement: what run.json will say of model and settings."""

    version: Annotated[Literal[1], Field(alias="schema")]
    model: Annotated[Long, Field(min_length=1)]
    model_identity: Annotated[Object, Field(max_length=64)]
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
    """The content of a draw's file."""

    version: Annotated[Literal[1], Field(alias="schema")]
    announcement: Announcement | None
    commitment: Digits
    value: Digits
    time: Annotated[Text, Field(max_length=20), AfterValidator(_time)]


def check_file_name(name: str) -> None:
    """Refuse a name of an announcement's file that would be awkward somewhere.

    Raises:
        EntryError: if it may not be called so.
    """
    if not _FILE_NAME(name):
        raise EntryError(
            f"the announcement is called {name!r}; a name has up to 100 of a-z 0-9 . _ -, a letter "
            "or digit first, and ends in .json"
        )


def text_of(content: Object) -> str:
    """Return the text of an announcement's or a draw's file."""
    return json.dumps(content, indent=2) + "\n"


def read_announcement(data: bytes) -> Object:
    """Return an announcement of the published form.

    One run has one announcement, since each has a draw of its own: another way to write the same is
    refused.

    Raises:
        EntryError: if the bytes are none.
    """
    content = _parsed(data, ANNOUNCEMENT_BYTES, "the announcement")
    read_as(Announcement.model_validate, content, "announcement")
    announcement: Object = content
    if len(text_of(announcement)) > ANNOUNCEMENT_BYTES:
        raise EntryError(
            f"the announcement has more than {ANNOUNCEMENT_BYTES:,} bytes as it is written"
        )
    if _has_null(announcement["model_identity"]) or announcement.get("top_p") == 1:
        raise _rewritten()
    return announcement


def check_announcement(announcement: Object) -> RunConfig:
    """See that this version computes the hashes of an announcement; return a run of it.

    Raises:
        EntryError: if no run of this version can have been announced.
    """
    config = read_config(
        {
            **announcement,
            **{"schema": 1, "split": "drawn", "slots": 1, "group_size": 1},
            "draw": {"commitment": commitment_of(announcement), "value": "0" * 64},
            **{"versions": {}, "command": ""},
        }
    )
    try:
        differing = list(config_differences(config))
    except UserError as error:
        raise EntryError(str(error).replace("run.json", "the announcement")) from None
    if differing:
        raise EntryError(*(f"the announcement's {each}" for each in differing))
    if commitment_of(announcement_of(config.as_json())) != commitment_of(announcement):
        raise _rewritten()
    return config


def check_announced_entry(announcement: Object) -> None:
    """See that a run as it is announced can be an entry.

    Raises:
        EntryError: if it cannot, with what to do.
    """
    if refused := why_no_entry(check_announcement(announcement)):
        raise EntryError(refused)


def why_no_entry(config: RunConfig) -> str:
    """Return why an announced run cannot be an entry and what to do, or "".

    Args:
        config: what `check_announcement` returns.
    """
    return (refusal(config) or "").replace("the run", "the announced run", 1)


def read_draw(data: bytes) -> Draw:
    """Return what the file of a draw holds.

    Raises:
        EntryError: if it is none, or the announcement in it is not the one of its commitment.
    """
    content = _parsed(data, DRAW_BYTES, "the draw")
    read_as(_DrawFile.model_validate, content, "draw")
    draw = Draw(content["announcement"], content["commitment"], content["value"], content["time"])
    if draw.announcement is not None and commitment_of(draw.announcement) != draw.commitment:
        raise EntryError(
            "the draw's announcement has another hash than its commitment: it was changed after "
            "the draw"
        )
    return draw


def _rewritten() -> EntryError:
    return EntryError("the announcement is not as `ragen-bench announce` writes it; send that")


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None


def _parsed(data: bytes, most: int, what: str) -> Any:
    if len(data) > most:
        raise EntryError(f"{what} has more than the {most:,} bytes that are read")
    try:
        return parse(data)
    except BadJsonError as error:
        raise EntryError(f"{what} {error}") from None
