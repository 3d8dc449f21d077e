"""Announcements and draws of a leaderboard, whose files may be written by strangers."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.canonical import find_other_spelling
from ragen_bench.leaderboard.rules import explain_refusal
from ragen_bench.leaderboard.schema import (
    Amount,
    Closed,
    EntryRunEnv,
    Long,
    ModelName,
    ShortHash,
    read_as,
)
from ragen_bench.leaderboard.strict_json import BadJsonError, EntryError, parse
from ragen_bench.reading import read_bytes
from ragen_bench.runs.checked import read_config
from ragen_bench.runs.differences import brief
from ragen_bench.runs.draws import (
    TIME,
    Draw,
    build_announcement,
    compute_commitment,
    find_unannounced,
)
from ragen_bench.runs.schema import Count, Digits, Flag, Positive, RunConfig, Share, Text
from ragen_bench.runs.specification import config_differences
from ragen_bench.suites import all_suites
from ragen_envs.core.protocol import AnswerFormat

ANNOUNCEMENT_BYTES = 1 << 18
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
    model: ModelName
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
    """Raise EntryError unless the name of an announcement file is portable."""
    if not _is_file_name(name):
        raise EntryError(
            f"the announcement is called {name!r}; a name has up to 100 of a-z 0-9 . _ -, a letter "
            "or digit first, and ends in .json"
        )


def render_json(content: Mapping[str, object]) -> str:
    """Return the text of an announcement or draw file."""
    return json.dumps(content, indent=2) + "\n"


def read_announcement(data: bytes) -> JsonObject:
    """Parse an announcement.

    Each announcement gets one draw, so only the canonical form, which `ragen-bench announce`
    writes, is accepted. Otherwise a second spelling of the same settings would get a second draw.
    """
    announcement = _parse(data, ANNOUNCEMENT_BYTES, "the announcement")
    read_as(Announcement.model_validate, announcement, "announcement")
    if len(render_json(announcement)) > ANNOUNCEMENT_BYTES:
        raise EntryError(
            f"the announcement has more than {ANNOUNCEMENT_BYTES:,} bytes in its written form"
        )
    if problem := find_other_spelling(announcement):
        raise EntryError(
            f"the announcement is not in the form that `ragen-bench announce` writes: {problem}; "
            "send its output"
        )
    return announcement


def check_announcement(announcement: JsonObject) -> RunConfig:
    """Check an announcement's hashes (EntryError), and return its run's configuration."""
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
    versions = {"": 0} | {name: suite.version for name, suite in all_suites().items()}
    if versions.get(config.suite) != config.suite_version:
        raise EntryError(
            f"the announcement is of version {config.suite_version} of the suite "
            f"{brief(config.suite)}, which is not known here; announce with this version"
        )
    return config


def explain_announced_refusal(config: RunConfig) -> str:
    """Return why the run of `check_announcement` cannot be an entry and what to do, or ""."""
    return (explain_refusal(config) or "").replace("the run", "the announced run", 1)


def read_draw(data: bytes) -> Draw:
    """Parse a draw file, whose announcement must match its commitment."""
    content = _parse(data, DRAW_BYTES, "the draw")
    read_as(_DrawFile.model_validate, content, "draw")
    draw = Draw(content["announcement"], content["commitment"], content["value"], content["time"])
    if draw.announcement is not None and compute_commitment(draw.announcement) != draw.commitment:
        raise EntryError(
            "the draw's announcement does not match its commitment: it was changed after the draw"
        )
    return draw


def read_draw_file(file: Path) -> Draw:
    """Read the draw file that a user names."""
    try:
        return read_draw(read_bytes(file, DRAW_BYTES))
    except OSError as error:
        raise UserError(f"the draw {file} cannot be read: {error.strerror}") from None
    except EntryError as error:
        raise UserError(f"{file} is not a draw: {error}") from None


def _parse(data: bytes, limit: int, name: str) -> JsonObject:
    if len(data) > limit:
        raise EntryError(f"{name} has more than the maximum of {limit:,} bytes")
    try:
        content: JsonObject = parse(data)
    except BadJsonError as error:
        raise EntryError(f"{name} {error}") from None
    return content


ANNOUNCEMENTS, DRAWS = "announcements", "draws"
"""Folder names in a leaderboard."""
FindDraw = Callable[[str], Draw]
"""Returns the draw for a commitment; raises EntryError if it does not exist."""


def find_draws_near(entry: Path) -> FindDraw:
    """Return a lookup in the draws of the leaderboard that contains an entry."""
    return partial(_find_draw, entry.absolute().parent.parent / DRAWS)


def find_draws_in(place: Path) -> FindDraw:
    """Return a lookup in a folder of draws, or in a single draw file."""
    if place.is_dir():
        return partial(_find_draw, place)
    if not place.exists():
        raise UserError(f"{place} does not exist; name a folder of draws, or one draw file")
    return partial(_read_draw_of, place)


def check_draw(config: RunConfig, find: FindDraw) -> str:
    """Check that a run uses the draw made for its announcement, and the announced settings.

    Returns the finding in one line, or "" for a run of another split, which passes unchecked.
    Raises EntryError if the draw or the settings differ.
    """
    if config.draw is None:
        return ""
    draw = find(config.draw.commitment)
    if draw.announcement is None:
        raise EntryError("the draw was made for a rerun, and answers no announcement")
    if draw.value != config.draw.value:
        raise EntryError(
            f"draw.value: recorded {config.draw.value}, published {draw.value}: the run does not "
            "use the project's draw"
        )
    if differences := find_unannounced(draw, config.as_json()):
        raise EntryError(
            *(f"differs from the announcement (there): {each}" for each in differences)
        )
    # An announcement of an earlier version may have redundant fields.
    announced, played = map(build_announcement, (draw.announcement, config.as_json()))
    if compute_commitment(announced) != compute_commitment(played):
        raise EntryError("the announcement differs from the one that the draw was made for")
    return f"announced as {draw.commitment[:12]}, drawn {draw.time}"


class DrawResult(NamedTuple):
    """The outcome for one announcement file: a draw file, or the problem that refuses it.

    A draw that existed before is left out. The note is a reason why the run cannot be an entry: a
    private leaderboard may draw for any environments, and the check of pull requests refuses them.
    """

    name: str
    file: Path | None
    draw: Draw | None = None
    problem: str = ""
    note: str = ""


def draw_all(leaderboard: Path) -> Iterator[DrawResult]:
    """Make and write the missing draws of a leaderboard. Existing draws are never replaced."""
    folder = leaderboard / ANNOUNCEMENTS
    if not folder.is_dir():
        raise UserError(f"{leaderboard} has no {ANNOUNCEMENTS}/; `ragen-bench announce` creates it")
    for file in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        try:
            check_file_name(file.name)
            announcement = read_announcement(_read_bytes(file))
            commitment = compute_commitment(announcement)
            drawn = leaderboard / DRAWS / f"{commitment}.json"
            if drawn.exists():
                _find_draw(drawn.parent, commitment)
                yield DrawResult(file.name, drawn)
                continue
            config = check_announcement(announcement)
            draw = _make_draw(announcement, commitment, drawn)
            yield DrawResult(file.name, drawn, draw, note=explain_announced_refusal(config))
        except EntryError as error:
            yield DrawResult(file.name, None, problem="; ".join(error.args))


def draw_for_rerun(config: RunConfig, out: Path) -> Path | None:
    """Return the draw file of an entry's rerun, after making the draw if it is missing.

    It is next to `out`, the run directory of the rerun; None for an entry of another split. Raises
    UserError if the file belongs to another entry or rerun, or is not a draw.
    """
    if config.draw is None:
        return None
    file = out.with_name(f"{out.name}.draw.json")
    if not file.exists():
        _make_draw(None, config.draw.commitment, file)
        return file
    try:
        draw = read_draw(_read_bytes(file))
    except EntryError as error:
        raise UserError(f"{file}: {error}; remove it, or choose another --out") from None
    if draw.commitment != config.draw.commitment or not out.exists():
        raise UserError(f"{file} belongs to another rerun; remove it, or choose another --out")
    return file


def _make_draw(announcement: JsonObject | None, commitment: str, file: Path) -> Draw:
    """Draw now from the operating system's random source, into a file that must not exist."""
    time = datetime.now(UTC).strftime(TIME)
    draw = Draw(announcement, commitment, secrets.token_hex(32), time)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="ascii") as stream:
            stream.write(render_json(draw.as_json()))
    except FileExistsError:
        raise UserError(f"{file} exists already; a draw is made only once") from None
    return draw


def _find_draw(folder: Path, commitment: str) -> Draw:
    file = folder / f"{commitment}.json"
    if folder.is_symlink():
        raise EntryError(f"{folder} is a link; use a folder in the leaderboard itself")
    if not file.is_file():
        raise EntryError(
            f"the draw {commitment}.json is not in {folder}; fetch the draws of the leaderboard, "
            "or name them with --draws, an option of verify"
        )
    return _read_draw_of(file, commitment)


def _read_draw_of(file: Path, commitment: str) -> Draw:
    draw = read_draw(_read_bytes(file))
    if draw.commitment != commitment:
        raise EntryError(f"{file} contains the draw for another commitment")
    return draw


def _read_bytes(file: Path) -> bytes:
    if file.is_symlink() or not file.is_file():
        raise EntryError(f"{file} is not a plain file")
    try:
        return read_bytes(file, DRAW_BYTES)
    except UserError as error:
        raise EntryError(str(error)) from None
