"""Removal of parts of keys from errors, where servers repeat a beginning or an end of them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.secrets import HIDDEN, is_secret, remove_secrets

_MIN_PART = 4
_MIN_BASE64 = 5
"""Characters of Base64 that depend on four characters alone, at most."""
_CERTAIN = 8
"""Length from which a part made of small letters is no chance."""
_ESCAPE = re.compile(
    r"\\+(?:(?:u00|x)(?P<hex>[0-9a-fA-F]{2}))?|%(?:25)*(?P<percent>[0-9a-fA-F]{2})"
    r"|&(?:amp;)*(?P<entity>#0*[0-9]{1,3}|#[xX]0*[0-9a-fA-F]{2}|[a-z]{2,4});|\+"
)
_is_ordinary = re.compile(r"[a-z ./:_-]+").fullmatch
_ADDRESS = re.compile(r"https?://[^/]*")


@contextmanager
def hiding_in_errors(hide: Callable[[str], str]) -> Iterator[None]:
    """Apply a function to the message of a UserError, which is printed or recorded."""
    try:
        yield
    except UserError as error:
        error.args = (hide(str(error)),)
        raise


def hide_parts(text: str, key: ServerKey, address: str = "") -> str:
    """Return an error's text with "..." for each part of a secret with at least 4 characters.

    Parts are found as they are, escaped as in JSON, URLs and HTML, in Base64 and in hexadecimal. A
    part of small letters counts as a word of its own only, since it also begins other words. The
    server's address stays.
    """
    if address and address in text:
        return address.join(hide_parts(piece, key) for piece in text.split(address))
    text = remove_secrets(text, key)
    for secret in (key.text, *key.others):
        if is_secret(secret):
            spans = sorted(_find_spans(text, _ADDRESS.sub("", secret)))
            text = _replace(text, spans)
    return text


def _replace(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    end = 0
    for start, stop in spans:
        if start > end or not pieces:
            pieces += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _find_spans(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each part in any form."""
    folded, places = _fold(text)
    for needle in _needles(secret):
        searched = text.lower() if needle.is_hex else text if needle.is_encoded else folded
        for start, end in _find_parts(searched, needle):
            if needle.is_encoded:
                yield start, end
            else:
                yield places[start], places[end]


class _Needle(NamedTuple):
    text: str
    least: int
    is_encoded: bool = False
    is_hex: bool = False


@cache
def _needles(secret: str) -> tuple[_Needle, ...]:
    data = secret.encode()
    needles = [_Needle(_fold(secret)[0], _MIN_PART)]
    needles.append(_Needle(data.hex(), 2 * _MIN_PART, is_encoded=True, is_hex=True))
    for before in range(3):  # other bytes
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(before) + data).decode()[first:last]
            needles.append(_Needle(encoded, _MIN_BASE64, is_encoded=True))
    return tuple(dict.fromkeys(needles))


def _find_parts(text: str, needle: _Needle) -> Iterator[tuple[int, int]]:
    """Yield the longest parts of a needle in a text, from left to right."""
    least, starts = needle.least, _starts(needle.text, needle.least)
    place = 0
    while place <= len(text) - least:
        end = max(
            (
                place + _count_equal(text, place, needle.text, start)
                for start in starts.get(text[place : place + least], ())
            ),
            default=place,
        )
        if end > place and _is_part(text, place, end):
            yield place, end
            place = end
        else:
            place += 1


@cache
def _starts(needle: str, least: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for start in range(len(needle) - least + 1):
        found.setdefault(needle[start : start + least], []).append(start)
    return found


def _count_equal(text: str, place: int, needle: str, start: int) -> int:
    count = 0
    for one, other in zip(text[place : place + len(needle)], needle[start:], strict=False):
        if one != other:
            break
        count += 1
    return count


def _is_part(text: str, start: int, end: int) -> bool:
    """Return whether equal characters are part of a key, and not of an ordinary word."""
    part = text[start:end]
    if end - start >= _CERTAIN or not _is_ordinary(part):
        return True
    if sum(map(str.isalpha, part)) < _MIN_PART:
        return False
    around = text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]
    return not any(len(pair) == 2 and pair.isalpha() and pair.islower() for pair in around)


def _fold(text: str) -> tuple[str, list[int]]:
    """Return a text without escapes, and the place in it of each character and of the end.

    Backslashes are left out, and a plus is a space, as in forms; keys are folded too.
    """
    characters: list[str] = []
    places: list[int] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        characters += text[end : match.start()]
        places += range(end, match.start())
        end = match.end()
        if meant := _meaning(match):
            characters.append(meant)
            places.append(match.start())
    characters += text[end:]
    places += range(end, len(text) + 1)
    return "".join(characters), places


def _meaning(match: re.Match[str]) -> str:
    """Return the character that an escape stands for, folded."""
    meant = "+" if match[0] == "+" else ""
    if code := match["hex"] or match["percent"]:
        meant = chr(int(code, 16))
    elif match["entity"]:
        meant = html.unescape(f"&{match['entity']};")
    return {"\\": "", "+": " "}.get(meant, meant if len(meant) == 1 else "&"[: len(meant)])
