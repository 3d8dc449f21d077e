"""Removal of keys from a server's text, in the forms in which servers repeat them."""

from __future__ import annotations

import base64
import html
import re
from functools import cache

from ragen_bench.models.api.options import ServerKey

_MIN_LENGTH, _MIN_DISTINCT = 8, 5
_PREFIX = 12
"""Length of a key's beginning that is removed too; a shorter one may be common to all keys."""
_WORDS = re.compile(
    r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)(?:[-_ .:/](?:[a-z]+|[A-Z][a-z]*|[A-Z]+))*"
).fullmatch
_MAX_WORDS = 24
HIDDEN = "..."


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
    text = _encoded_pattern(key).sub(HIDDEN, text)
    pieces: list[str] = []
    end = 0
    while found := _prefix_pattern(key).search(text, end):
        pieces += text[end : found.start()], HIDDEN
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
    """Match the hexadecimal key, or the Base64 characters that depend on the key alone."""
    data = key.encode()
    forms = []
    for before in range(3):  # other bytes
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            forms.append(re.escape(encode(bytes(before) + data).decode()[first:last]))
    return re.compile(f"{'|'.join(forms)}|(?i:{data.hex()})")
