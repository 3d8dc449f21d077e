"""The sealed split: instances that follow from the secret key of a benchmark host.

The host publishes the key's hash before an event and the key after it, which proves that the
instances were fixed from the start. The event's name is part of the key, so that one hash cannot
serve two events. The key comes from the environment of the process,
never from an argument: arguments end up in `env.spec`, in commands and in records.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

KEY_VARIABLE = "RAGEN_SEALED_KEY"
"""Holds the key itself."""
KEY_FILE_VARIABLE = "RAGEN_SEALED_KEY_FILE"
"""Path of a file with the key; used if the first variable is not set."""
KEY_DIGITS = 64
"""Hex digits of a key: 256 bits, too many to find a key from its hash."""
LONGEST_EVENT = 80
"""Characters of an event's name, which may follow the digits after a space."""

_MIN_DISTINCT_DIGITS = 10
"""Distinct digits of a random key of 64 hex digits; less than one key in 10^11 has fewer."""
_HASHED_AS = b"ragen sealed key 1\0"
_EVENT = rf"[!-~][ -~]{{,{LONGEST_EVENT - 1}}}"
_WELL_FORMED = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}(?: {_EVENT})?").fullmatch
_files: dict[str, str] = {}
_keys: dict[str, str] = {}


class SealedKeyError(ValueError):
    """The key is missing or malformed; the message never holds what was found in its place."""


def new_key(event: str = "") -> str:
    """Return a fresh random key: 64 hex digits from the operating system's source.

    Args:
        event: Name of the event in ASCII, appended to the digits.

    Raises:
        SealedKeyError: The name is not 1 to 80 printable ASCII characters.
    """
    digits = secrets.token_hex(KEY_DIGITS // 2)
    if not event:
        return digits
    key = f"{digits} {event}"
    if not _WELL_FORMED(key) or event != event.strip():
        raise SealedKeyError(
            f"the name of an event is 1 to {LONGEST_EVENT} letters, digits, signs and spaces of "
            f"ASCII, got {event!r}"
        )
    return key


def event_of(key: str) -> str:
    """Return the name of the event that a key is for; it is empty where the key has none.

    Raises:
        SealedKeyError: The key is malformed.
    """
    return _check_key(key, "the key")[KEY_DIGITS + 1 :]


def key_hash(key: str) -> str:
    """Return the 64 hex digits that commit to a key and do not give it away.

    They are SHA-256 over a fixed prefix and the key, whose instances are derived without it.

    Raises:
        SealedKeyError: The key is malformed.
    """
    return hashlib.sha256(_HASHED_AS + _check_key(key, "the key").encode()).hexdigest()


def read_key_file(path: str | os.PathLike[str]) -> str:
    """Return the key that a file holds; white space around it does not matter.

    Raises:
        SealedKeyError: The file cannot be read or holds no key.
    """
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError as error:
        raise SealedKeyError(f"the key file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    return _check_key(text, f"the key file {path}")


def open_key() -> str:
    """Read the key from the process's environment, keep it in memory, and return its hash.

    A file is read once, so that no run mixes the instances of two keys if the file changes.

    Raises:
        SealedKeyError: Neither variable is set, or the key is malformed.
    """
    if key := os.environ.get(KEY_VARIABLE):
        key = _check_key(key, f"the variable {KEY_VARIABLE}")
    elif path := os.environ.get(KEY_FILE_VARIABLE):
        where = str(Path(path).absolute())
        if where not in _files:
            _files[where] = read_key_file(path)
        key = _files[where]
    else:
        raise SealedKeyError(
            f"the sealed split needs the host's key: name its file in {KEY_FILE_VARIABLE} "
            f"(or put the key itself into {KEY_VARIABLE}); `ragen-bench sealed new FILE` makes one"
        )
    hashed = key_hash(key)
    _keys[hashed] = key
    return hashed


def open_drawn_key() -> str:
    """Return the hash of the key as `open_key` does, and refuse one that can be guessed.

    Raises:
        SealedKeyError: There is no key, or it was not drawn at random.
    """
    hashed = open_key()
    check_drawn(_keys[hashed], "the environment")
    return hashed


def check_drawn(key: str, where: str) -> None:
    """Raise SealedKeyError for a key that was not drawn at random; `where` holds it."""
    if is_weak(key):
        raise SealedKeyError(
            f"{where} holds a key that was not drawn at random, so its instances can be guessed; "
            "make one with ragen-bench sealed new"
        )


def is_weak(key: str) -> bool:
    """Return whether a key repeats itself or has few distinct digits, as if typed by hand."""
    digits = key[:KEY_DIGITS]
    return len(set(digits)) < _MIN_DISTINCT_DIGITS or digits in (digits + digits)[1:-1]


def secret_of(hashed: str) -> str:
    """Return the key of a hash, which labels the streams of instances and of their noise.

    Environments know the hash alone, so that no copy or pickle of one carries the key.

    Raises:
        SealedKeyError: This process does not hold the key.
    """
    if hashed not in _keys and open_key() != hashed:
        raise SealedKeyError(
            f"this environment was made with the sealed key of hash {hashed}, and the process "
            "holds another one"
        )
    return _keys[hashed]


def _check_key(key: str, where: str) -> str:
    key = key.strip()
    if not _WELL_FORMED(key):
        raise SealedKeyError(
            f"{where} holds no key, which is {KEY_DIGITS} hex digits 0-9a-f, and after a space the "
            "name of its event, if it has one"
        )
    return key
