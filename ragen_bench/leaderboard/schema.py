"""The published form of entry.json, on top of the records of a run."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from confusable_homoglyphs.confusables import is_confusable
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, ValidationError
from pydantic.json_schema import GenerateJsonSchema, SkipJsonSchema
from pydantic_core import PydanticCustomError

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.runs.checked import first_flaw
from ragen_bench.runs.schema import (
    Count,
    Document,
    Flag,
    Number,
    Object,
    Positive,
    RunConfig,
    RunDraw,
    RunEnv,
    Text,
    as_written,
)

SCHEMA = 1
T = TypeVar("T")
_HIDDEN = (
    r"[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff"
    r"\uffa0\ufff9-\ufffb]"
)
"""What is not seen, or looks like another space."""
_LIKE_LATIN = {"CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Scripts with letters that look like Latin ones, which no word has together with those."""
_TOLD_APART = set("αγεικνστυχω")
"""Greek letters of formulas, which people tell from a, y and so on; Unicode has them alike."""
_NOT_IN_A_LINK = r"[^!#-;=?-Z_a-z~\[\]]"
_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_LINK = "^https?://[A-Za-z0-9]"
_REASONS = {
    r"^\S": "begins with a space",
    _DAY: "is not of the form YYYY-MM-DD",
    _LINK: "is not an address that begins with http:// or https://",
}
"""What is wrong with a text that does not match a pattern."""


def _without(characters: str) -> AfterValidator:
    def check(text: str) -> str:
        if re.search(characters, text):
            raise PydanticCustomError(
                "characters", "holds characters that are not shown, or not allowed here"
            )
        return text

    return AfterValidator(check)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _looks_latin(letter: str) -> bool:
    """Return whether a letter of another script looks like one of a to z (Unicode's UTS 39)."""
    if _script(letter) == "LATIN" or letter in _TOLD_APART:
        return False
    found = is_confusable(letter, preferred_aliases=["latin"])
    return bool(found) and any(
        like["c"].isascii() and like["c"].isalpha() for like in found[0]["homoglyphs"]
    )


def _plain_letters(text: str) -> str:
    """Refuse letters that look like others: in a word of Latin ones, or all letters of a word."""
    for found in re.findall(r"[^\W\d_]+", text):
        word = [letter for letter in found if unicodedata.category(letter).startswith("L")]
        scripts = {_script(letter) for letter in word}
        like_latin = [_looks_latin(letter) for letter in word]
        mixed = "LATIN" in scripts and (scripts & _LIKE_LATIN or any(like_latin))
        disguised = bool(word) and all(like_latin)
        if mixed or disguised or any(unicodedata.normalize("NFKC", x) != x for x in word):
            raise PydanticCustomError("letters", "holds letters that look like others")
    if any(unicodedata.category(character) == "Cf" for character in text):  # those of many bytes
        raise PydanticCustomError("characters", "holds characters that are not shown")
    return text


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("day", "is not a day") from None
    return text


def _in_order(bounds: list[float]) -> list[float]:
    if bounds[0] > bounds[1]:
        raise PydanticCustomError("interval", "begins behind its end")
    return bounds


_not_hidden = _without(_HIDDEN)
_Seen = {"pattern": r"^\S", "json_schema_extra": {"not": {"pattern": _HIDDEN}}}
_Name = Annotated[
    Text,
    Field(min_length=1, max_length=100, **_Seen),
    _not_hidden,
    AfterValidator(_plain_letters),
]
_Contact = Annotated[Text, Field(min_length=1, max_length=200, **_Seen), _not_hidden]
_Version = Annotated[Text, Field(min_length=1, max_length=50, **_Seen), _not_hidden]
_Currency = Annotated[Text, Field(min_length=1, max_length=16, **_Seen), _not_hidden]
_Link = Annotated[
    Text,
    Field(
        max_length=300,
        pattern=_LINK,
        json_schema_extra={"not": {"pattern": _NOT_IN_A_LINK}},
    ),
    _without(_NOT_IN_A_LINK),
]
_Date = Annotated[Text, Field(max_length=10, pattern=_DAY), AfterValidator(_day)]
ShortHash = Annotated[Text, Field(max_length=16, pattern="^[0-9a-f]{16}$")]
_Sha256 = Annotated[Text, Field(max_length=64, pattern="^[0-9a-f]{64}$")]
_Short = Annotated[Text, Field(max_length=100)]
Long = Annotated[Text, Field(max_length=4096)]
Amount = Annotated[Number, Field(ge=0), as_written]
Figure = Annotated[Number, as_written]
Interval = Annotated[list[Figure], Field(min_length=2, max_length=2), AfterValidator(_in_order)]
"""The bounds of an interval, the lower one first."""


class Closed(Document):
    """An object that has no fields but those that are named."""

    model_config = ConfigDict(extra="forbid")


def _unknown_field(_value: Any) -> None:
    raise PydanticCustomError("extra_forbidden", "is not allowed here")


_Absent = SkipJsonSchema[Annotated[None, BeforeValidator(_unknown_field)]]
"""A field of runs that no entry has."""


class EntryRunEnv(RunEnv, Closed):
    """An environment of an entry's run."""

    id: Long
    instances: Positive
    spec_hash: ShortHash


class EntryDraw(RunDraw, Closed):
    """The draw of an entry's run."""


class EntryRun(RunConfig, Closed):
    """The content of run.json, as the harness wrote it for a run that may be an entry."""

    model: Annotated[Long, Field(min_length=1)]
    model_identity: Annotated[Object, Field(max_length=64)]
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
    """What a run cost, by the submitter's prices."""

    amount: Amount
    currency: _Currency


class EnvSummary(Document):
    """The figures of an environment, which are recomputed, and the seconds, which are not."""

    env: Long
    episodes: Any
    success: Any
    score: Any
    random: Any
    oracle: Any
    normalised: Any
    seconds: Amount


class EntrySummary(Closed):
    """The content of summary.json. All but the costs and the seconds is recomputed."""

    model: Long
    suite: Long
    split: Long
    episodes: Positive
    planned: Positive
    infra_faults: Annotated[int, Strict(), Field(ge=0, le=0)]
    suite_score: Figure | None
    suite_score_interval: Interval | None
    cost: Cost | None
    envs: Annotated[list[EnvSummary], Field(min_length=1, max_length=64)]


class Statement(Closed):
    """What the submitter says of an entry."""

    name: _Name = Field(description="The model, as the table shows it.")
    submitter: _Name = Field(description="Who submits.")
    contact: _Contact | None = Field(description="How to reach them.")
    link: _Link | None = Field(description="A page on the model.")
    parameters: Positive | None = Field(description="How many the model has.")
    open_weights: Flag | None = Field(description="Whether everybody can have them.")
    date: _Date | None = Field(description="Of the run, as the submitter says it.")


class Entry(Statement):
    """The content of entry.json."""

    version: Annotated[int, Strict(), Field(alias="schema", ge=SCHEMA, le=SCHEMA)]
    ragen_version: _Version = Field(description="Of the package that packed the entry.")
    episodes_sha256: _Sha256 = Field(description="Of the unpacked episodes.")
    episodes_bytes: Positive = Field(description="Length of the unpacked episodes.")
    run: EntryRun
    summary: EntrySummary


class _WithoutTitles(GenerateJsonSchema):
    """Leaves out the titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False


def entry_schema() -> Object:
    """Return the JSON Schema (draft 2020-12) of entry.json, as leaderboard/ publishes it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Entry.model_json_schema(schema_generator=_WithoutTitles),
    }


def schema_text() -> str:
    """Return the text of leaderboard/entry.schema.json."""
    return json.dumps(entry_schema(), indent=2) + "\n"


def read_statement(statement: Object) -> Statement:
    """Return what the submitter says.

    Raises:
        EntryError: if a part of it cannot stand in an entry, with its name.
    """
    return read_as(Statement.model_validate, statement)


def checked_entry(content: Any) -> Entry:
    """Return an entry.

    Args:
        content: of an entry.json, any JSON value.

    Raises:
        EntryError: if it does not have the published form, with the first field that does not.
    """
    entry = read_as(Entry.model_validate, content)
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise EntryError("holds half a surrogate pair, which is not a text") from None
    return entry


def read_as(read: Callable[[Any], T], content: Any, place: str = "") -> T:
    """Return what a stranger's value holds.

    Args:
        read: of pydantic.
        content: any JSON value.
        place: of the value, for the message.

    Raises:
        EntryError: if it does not hold that, with the first place that does not.
    """
    try:
        return read(content)
    except ValidationError as error:
        path, value, reason = first_flaw(error, _REASONS)
    where = ".".join(filter(None, (place, path)))
    what = " ".join(filter(None, (value, reason)))
    raise EntryError(f"{where}: {what}" if where else what)
