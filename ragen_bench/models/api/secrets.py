"""Removal of keys and their parts from the texts of a server, in the forms that servers repeat."""

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

_MIN_LENGTH, _MIN_DISTINCT = 8, 5
_PREFIX = 12
"""Length of a key's beginning that is removed too; a shorter one may be common to all keys."""
_WORDS = re.compile(
    r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)(?:[-_ .:/](?:[a-z]+|[A-Z][a-z]*|[A-Z]+))*"
).fullmatch
_MAX_WORDS = 24
_HIDDEN = "..."
_MIN_PART = 4
_MIN_BASE64 = 5
"""Characters of Base64 that depend on four characters alone, at most."""
_CERTAIN = 8
"""Length from which a part made of small letters is not there by chance."""
_ESCAPE = re.compile(
    r"\\+(?:(?:u00|x)(?P<hex>[0-9a-fA-F]{2}))?|%(?:25)*(?P<percent>[0-9a-fA-F]{2})"
    r"|&(?:amp;)*(?P<entity>#0*[0-9]{1,3}|#[xX]0*[0-9a-fA-F]{2}|[a-z]{2,4});|\+"
)
_is_ordinary = re.compile(r"[a-z ./:_-]+").fullmatch
_ADDRESS = re.compile(r"https?://[^/]*")


def is_secret(text: str) -> bool:
    """Return whether a key or a word of a header is secret, and not a placeholder.

    A secret has at least 8 characters, 5 of them different, and does not consist of words of
    letters with up to 24 characters. Thus `x`, `EMPTY` and `sk-no-key-required` are not secret:
    they occur in completions by chance.
    """
    words = len(text) <= _MAX_WORDS and _WORDS(text)
    return len(text) >= _MIN_LENGTH and len(set(text)) >= _MIN_DISTINCT and not words


def remove_secrets(text: str, key: ServerKey) -> str:
    """Replace the secrets of a key by "...".

    A key is found with any of its characters escaped: by backslashes as in JSON, also in nested
    JSON, by percent signs as in URLs, or as in HTML. So is its beginning of 12 or more characters.
    A whole key is found in Base64, alone or after other text, and in hexadecimal.
    """
    for secret in (key.text, *key.others):
        text = remove_key(text, secret)
    return text


def remove_key(text: str, key: str) -> str:
    """Replace one key by "..."; see `remove_secrets`."""
    if not is_secret(key):
        return text
    text = _encoded_pattern(key).sub(_HIDDEN, text)
    pieces: list[str] = []
    end = 0
    while found := _prefix_pattern(key).search(text, end):
        pieces += text[end : found.start()], _HIDDEN
        end = found.end()
        for character in key[_PREFIX:]:
            if not (match := _character_pattern(character).match(text, end)):
                break
            end = match.end()
    return "".join([*pieces, text[end:]])


@cache
def _prefix_pattern(key: str) -> re.Pattern[str]:
    return re.compile("".join(_character_pattern(character).pattern for character in key[:_PREFIX]))


@cache
def _character_pattern(character: str) -> re.Pattern[str]:
    """Match an ASCII character and its escapes, with bounded repeats."""
    number = f"(?i:{ord(character):02x})"
    entity = html.escape(character).strip("&;")
    forms = [
        rf"\\{{1,8}}(?:u00{number}|x{number}|{re.escape(character)})",
        f"%(?:25){{0,3}}{number}",
        f"&(?:amp;){{0,3}}(?:#0{{0,5}}{ord(character)}|#[xX]0{{0,5}}{number}|{re.escape(entity)});",
        "[ +]" if character == " " else re.escape(character),
    ]
    return re.compile(f"(?:{'|'.join(forms)})")


@cache
def _encoded_pattern(key: str) -> re.Pattern[str]:
    hexadecimal, *base64_forms = _encode(key)
    return re.compile(f"{'|'.join(map(re.escape, base64_forms))}|(?i:{hexadecimal})")


def _encode(key: str) -> Iterator[str]:
    """Yield the hexadecimal key, then the Base64 characters that depend on the key alone."""
    data = key.encode()
    yield data.hex()
    for before in range(3):  # other bytes
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + data).decode()[first:last]


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
            pieces += [text[end:start], _HIDDEN]
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
    hexadecimal, *base64_forms = _encode(secret)
    return (
        _Needle(_fold(secret)[0], _MIN_PART),
        _Needle(hexadecimal, 2 * _MIN_PART, is_encoded=True, is_hex=True),
        *(_Needle(form, _MIN_BASE64, is_encoded=True) for form in dict.fromkeys(base64_forms)),
    )


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
