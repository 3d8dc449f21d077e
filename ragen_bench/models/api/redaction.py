"""Takes keys out of what a server says, in the forms that servers repeat them in."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from functools import cache

from ragen_bench.models.api.options import ServerKey

_LEAST, _LEAST_DIFFERENT = 8, 5
_TELLING = 12
"""So many first characters of a key are replaced too; fewer may be all keys' common beginning."""
_WORDS = re.compile(
    r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)(?:[-_ .:/](?:[a-z]+|[A-Z][a-z]*|[A-Z]+))*"
).fullmatch
_LONGEST_WORDS = 24
_HIDDEN = "..."


def is_secret(text: str) -> bool:
    """Return whether a key or a word of a header is one, and no placeholder that a server wants.

    A secret has at least 8 characters, 5 of them different, and is not made of words of letters,
    up to 24 characters of them. So `x`, `EMPTY` and `sk-no-key-required` are none: they stand in
    answers by chance.
    """
    words = len(text) <= _LONGEST_WORDS and _WORDS(text)
    return len(text) >= _LEAST and len(set(text)) >= _LEAST_DIFFERENT and not words


def without_secrets(text: str, key: ServerKey) -> str:
    """Return a text in which "..." stands for a key and what else is secret, if they are secrets.

    Found is a key as it is or with any of its characters escaped: by backslashes as in JSON, also
    in JSON within JSON, by percent signs as in addresses, or as in HTML. So is a longer beginning
    of it. Whole keys are found in Base64, alone or behind other text, and in hex digits.
    """
    for secret in (key.text, *key.others):
        text = without_key(text, secret)
    return text


def without_key(text: str, key: str) -> str:
    """Return a text in which "..." stands for one key; see `without_secrets`."""
    if not is_secret(key):
        return text
    text = _encoded(key).sub(_HIDDEN, text)
    pieces: list[str] = []
    end = 0
    while found := _beginning(key).search(text, end):
        pieces += text[end : found.start()], _HIDDEN
        end = found.end()
        for character in key[_TELLING:]:
            if not (more := _escaped(character).match(text, end)):
                break
            end = more.end()
    return "".join([*pieces, text[end:]])


@cache
def _beginning(key: str) -> re.Pattern[str]:
    return re.compile("".join(_escaped(character).pattern for character in key[:_TELLING]))


@cache
def _escaped(character: str) -> re.Pattern[str]:
    """Return the pattern of a character of ASCII and its escapes, whose repeats are bounded."""
    number = f"(?i:{ord(character):02x})"
    named = html.escape(character).strip("&;")
    forms = [
        rf"\\{{1,8}}(?:u00{number}|x{number}|{re.escape(character)})",
        f"%(?:25){{0,3}}{number}",
        f"&(?:amp;){{0,3}}(?:#0{{0,5}}{ord(character)}|#[xX]0{{0,5}}{number}|{re.escape(named)});",
        "[ +]" if character == " " else re.escape(character),
    ]
    return re.compile(f"(?:{'|'.join(forms)})")


@cache
def _encoded(key: str) -> re.Pattern[str]:
    digits = key.encode().hex()
    forms = map(re.escape, _encodings(key.encode()))
    return re.compile(f"{'|'.join(forms)}|(?i:{digits})")


def _encodings(key: bytes) -> Iterator[str]:
    """Yield the characters of Base64 that a key alone decides on, behind 0, 1 or 2 other bytes."""
    for before in range(3):
        length = before + len(key)
        first, last = -(-before * 8 // 6), length * 8 // 6
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + key).decode()[first:last]
