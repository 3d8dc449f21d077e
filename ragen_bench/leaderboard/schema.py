"""The published schema of entry.json, based on the records of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, ValidationError
from pydantic.json_schema import GenerateJsonSchema, SkipJsonSchema
from pydantic_core import PydanticCustomError

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.strict_json import EntryError
from ragen_bench.lookalikes import HIDDEN, find_lookalike
from ragen_bench.runs.checked import first_flaw
from ragen_bench.runs.schema import (
    Count,
    Document,
    Flag,
    Number,
    Positive,
    RunConfig,
    RunDraw,
    RunEnv,
    Text,
    as_written,
)

SCHEMA = 1
T = TypeVar("T")
_NOT_IN_A_LINK = r"[^!#-;=?-Z_a-z~\[\]]"
_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_LINK = "^https?://[A-Za-z0-9]"
_REASONS = {
    r"^\S": "begins with a space",
    _DAY: "is not of the form YYYY-MM-DD",
    _LINK: "is not an address that begins with http:// or https://",
}
"""Messages for texts that do not match a pattern."""


def _without(characters: str) -> AfterValidator:
    def check(text: str) -> str:
        if re.search(characters, text):
            raise PydanticCustomError(
                "characters", "has invisible characters, or some that are not allowed here"
            )
        return text

    return AfterValidator(check)


def _check_letters(text: str) -> str:
    if problem := find_lookalike(text):
        raise PydanticCustomError("letters", "{problem}", {"problem": problem})
    return text


def _check_day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("day", "is not a day") from None
    return text


def _check_order(bounds: list[float]) -> list[float]:
    if bounds[0] > bounds[1]:
        raise PydanticCustomError("interval", "has a lower bound above the upper")
    return bounds


_no_hidden = _without(HIDDEN)
_Visible = {"pattern": r"^\S", "json_schema_extra": {"not": {"pattern": HIDDEN}}}
_Name = Annotated[
    Text,
    Field(min_length=1, max_length=100, **_Visible),
    _no_hidden,
    AfterValidator(_check_letters),
]
_Contact = Annotated[Text, Field(min_length=1, max_length=200, **_Visible), _no_hidden]
_Version = Annotated[Text, Field(min_length=1, max_length=50, **_Visible), _no_hidden]
_Currency = Annotated[Text, Field(min_length=1, max_length=16, **_Visible), _no_hidden]
_Link = Annotated[
    Text,
    Field(max_length=300, pattern=_LINK, json_schema_extra={"not": {"pattern": _NOT_IN_A_LINK}}),
    _without(_NOT_IN_A_LINK),
]
_Date = Annotated[Text, Field(max_length=10, pattern=_DAY), AfterValidator(_check_day)]
ShortHash = Annotated[Text, Field(max_length=16, pattern="^[0-9a-f]{16}$")]
_Sha256 = Annotated[Text, Field(max_length=64, pattern="^[0-9a-f]{64}$")]
_Short = Annotated[Text, Field(max_length=100)]
Long = Annotated[Text, Field(max_length=4096)]
ModelName = Annotated[Long, Field(min_length=1), AfterValidator(_check_letters)]
Amount = Annotated[Number, Field(ge=0), as_written]
Figure = Annotated[Number, as_written]
Interval = Annotated[list[Figure], Field(min_length=2, max_length=2), AfterValidator(_check_order)]
"""Lower and upper bound."""


class Closed(Document):
    """An object without other fields."""

    model_config = ConfigDict(extra="forbid")


def _refuse_field(_value: object) -> None:
    raise PydanticCustomError("extra_forbidden", "is not allowed here")


_Absent = SkipJsonSchema[Annotated[None, BeforeValidator(_refuse_field)]]
"""A field of run.json that entries do not have."""


class EntryRunEnv(RunEnv, Closed):
    """An environment of an entry's run."""

    id: Long
    instances: Positive
    spec_hash: ShortHash


class EntryDraw(RunDraw, Closed):
    """The draw of an entry's run."""


class EntryRun(RunConfig, Closed):
    """The content of run.json, for a run that may be an entry."""

    model: ModelName
    model_identity: Annotated[JsonObject, Field(max_length=64)]
    opponent: _Absent = None
    random_player: _Absent = None  # type: ignore[assignment]
    random_player_identity: _Absent = None  # type: ignore[assignment]
    suite: Annotated[Long, Field(min_length=1)]
    suite_version: Positive
    suite_hash: ShortHash
    split: Literal["test", "sealed", "drawn"]
    sealed_key_hash: _Sha256 = ""
    draw: EntryDraw | None = None
    temperature: Amount
    max_tokens: Positive
    history: Count | None
    prompt_hash: ShortHash
    envs: Annotated[list[EntryRunEnv], Field(min_length=1, max_length=64)]  # type: ignore[assignment]
    versions: Annotated[dict[str, _Short], Field(max_length=64)]
    command: Annotated[Text, Field(max_length=16384)]
    machine: Annotated[dict[str, _Short], Field(max_length=64)] = Field(default_factory=dict)


class Cost(Closed):
    """The cost of a run, by the submitter's prices."""

    amount: Amount
    currency: _Currency
    per_solved: Amount | None = Field(None, description="Cost of each solved episode.")


class EnvSummary(Document):
    """The metrics of an environment. All except `seconds` are recomputed."""

    env: Long
    episodes: object
    success: object
    score: object
    random: object
    oracle: object
    normalised: object
    seconds: Amount


class EntrySummary(Closed):
    """The content of summary.json. All except cost and seconds is recomputed."""

    model: Long
    people: Annotated[Positive, Field(description="Number of people who played.")] = 0
    suite: Long
    split: Long
    episodes: Positive
    planned: Positive
    infra_faults: Annotated[int, Strict(), Field(ge=0, le=0)]
    given_up: Annotated[dict[_Short, Positive], Field(min_length=1, max_length=64)] = Field(
        default_factory=dict, description="Episodes that count as failures, by the server's fault."
    )
    suite_score: Figure | None
    suite_score_interval: Interval | None
    cost: Cost | None
    envs: Annotated[list[EnvSummary], Field(min_length=1, max_length=64)]


class Statement(Closed):
    """The submitter's statements about an entry."""

    name: _Name = Field(description="Name of the model, as the table shows it.")
    submitter: _Name = Field(description="Name of the submitter.")
    contact: _Contact | None = Field(description="Contact address of the submitter.")
    link: _Link | None = Field(description="URL of a page on the model.")
    parameters: Positive | None = Field(description="Number of parameters.")
    open_weights: Flag | None = Field(description="Whether the weights are public.")
    date: _Date | None = Field(description="Date of the run.")


class Entry(Statement):
    """The content of entry.json."""

    version: Annotated[int, Strict(), Field(alias="schema", ge=SCHEMA, le=SCHEMA)]
    ragen_version: _Version = Field(description="Version of the package that packed the entry.")
    episodes_sha256: _Sha256 = Field(description="SHA-256 of the unpacked episodes.")
    episodes_bytes: Positive = Field(description="Size of the unpacked episodes, in bytes.")
    run: EntryRun
    summary: EntrySummary


class _WithoutTitles(GenerateJsonSchema):
    """Omits the titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, _schema: object) -> bool:
        return False


def build_schema() -> JsonObject:
    """Return the JSON Schema (draft 2020-12) of entry.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Entry.model_json_schema(schema_generator=_WithoutTitles),
    }


def read_statement(statement: JsonObject) -> Statement:
    """Validate the submitter's statements; a wrong one raises EntryError with its name."""
    return read_as(Statement.model_validate, statement)


def parse_entry(content: object) -> Entry:
    """Validate the content of an entry.json; EntryError names the first wrong field."""
    entry = read_as(Entry.model_validate, content)
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise EntryError("holds half a surrogate pair, which is not a text") from None
    return entry


def read_as(read: Callable[[object], T], content: object, place: str = "") -> T:
    """Validate an untrusted JSON value at `place`; EntryError names the first wrong field."""
    try:
        return read(content)
    except ValidationError as error:
        path, value, reason = first_flaw(error, _REASONS)
    where = ".".join(filter(None, (place, path)))
    what = " ".join(filter(None, (value, reason)))
    raise EntryError(f"{where}: {what}" if where else what)
