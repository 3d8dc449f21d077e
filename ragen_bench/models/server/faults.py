"""Faults of a server, told apart by whether another try may succeed."""

from __future__ import annotations

import email.utils
import re
import time
from itertools import takewhile
from typing import NoReturn

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.models.server.options import ServerKey
from ragen_bench.models.server.refusals import refused_settings

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

__all__ = [
    "ContextError",
    "PassingError",
    "RefusedError",
    "openai",
    "raise_fault",
    "without_key",
    "without_secrets",
]

_PASSING = {408, 409, 425, 429}
"""Besides all that begin with 5."""
_REFUSALS = {400, 413, 422}
"""What one conversation may meet and another not: a filter of contents, a limit on their size."""
_LONGEST_ASKED_WAIT = 120
_SHOWN = 200
_TELLING = 12
"""So many first characters of a key are replaced too; fewer may be all keys' common beginning."""
_OVERFLOWS = {"context_length_exceeded", "exceed_context_size_error"}
"""OpenAI's code and llama.cpp's type of error."""
_OVERFLOW = re.compile(
    "maximum context length|maximum model length|context length is only"  # vLLM
    "|longer than the model's context length"  # SGLang, which has vLLM's first words too
)


class PassingError(Exception):
    """A failure of one try, while another try may succeed.

    Args:
        reason: what happened, for the user.
        wait: seconds that the server asks us to wait.
        answered: whether the server said something at all.
        reached: whether it took the connection, and then dropped it.

    Attributes:
        tries: how many there were, for the last one of them.
    """

    def __init__(
        self, reason: str, wait: float = 0.0, answered: bool = False, reached: bool = False
    ) -> None:
        super().__init__(reason)
        self.reached = reached
        self.wait = wait
        self.answered = answered
        self.tries = 1


class ContextError(Exception):
    """The conversation and the longest answer do not fit into the model's context.

    Args:
        reason: the server's words.
    """


class RefusedError(UserError):
    """The server refused what was asked; of another conversation it may not.

    Args:
        message: what is wrong.
        settings: those that the server names and that can be sent otherwise or left out.
    """

    def __init__(self, message: str, settings: tuple[str, ...] = ()) -> None:
        super().__init__(message, exit_code=1)
        self.settings = settings


def raise_fault(error: openai.APIError, url: str, key: ServerKey) -> NoReturn:
    """Raise what an error of the protocol's client means.

    Args:
        error: the client's.
        url: the server's base URL.
        key: the key, which never enters a message.

    Raises:
        PassingError: if another try may succeed.
        ContextError: if the conversation is too long.
        RefusedError: if the server will not answer this request.
        UserError: if none of these, with what to do.
    """
    if not isinstance(error, openai.APIStatusError):
        raise PassingError(_root(error), reached=not _unreached(error)) from error
    status = error.status_code
    # What a refused key is answered with may hold a part of it.
    if status in (401, 403):
        problem = "refuses the key of" if key.text else "wants a key: set"
        raise UserError(f"{url} {problem} {key.variable} (HTTP {status})", exit_code=1) from None
    words = _words(error, key)
    if (status in _PASSING or status >= 500) and error.code != "insufficient_quota":
        wait = _asked_wait(error)
        if wait <= _LONGEST_ASKED_WAIT:
            raise PassingError(words, wait, answered=True) from error
        words += f", and asks to wait {wait:.0f} s"
    if status in (404, 405):
        words += "; does the base URL lack its /v1?"
    elif _names(error) & _OVERFLOWS or _OVERFLOW.search(words):
        raise ContextError(words) from error
    refusal = f"{url} refused a request: {words}"
    if status in _REFUSALS:
        raise RefusedError(refusal, refused_settings(words, error.code, error.param)) from error
    raise UserError(refusal, exit_code=1) from error


def without_key(text: str, key: str) -> str:
    """Return a text in which "..." stands for the key, and for a longer beginning of it."""
    if not key:
        return text
    known, rest = key[:_TELLING], key[_TELLING:]
    before, *pieces = text.split(known)
    # What of the rest of the key follows goes too.
    after = (piece[len(_common(piece, rest)) :] for piece in pieces)
    return "...".join([before, *after])


def without_secrets(text: str, key: ServerKey) -> str:
    """Return a text in which "..." stands for a key and what else is secret."""
    for secret in (key.text, *key.others):
        text = without_key(text, secret)
    return text


def _common(a: str, b: str) -> str:
    """Return the longest beginning that two texts share."""
    return "".join(
        x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    )


def _words(error: openai.APIStatusError, key: ServerKey) -> str:
    """Return the status and the server's own words, in one line."""
    body = error.body
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    line = without_secrets(" ".join(str(message or "").split()), key)
    line = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
    return f"HTTP {error.status_code} {line}".strip()


def _names(error: openai.APIError) -> set[str]:
    """Return what the server calls its error: texts, unless it talks nonsense."""
    return {name for name in (error.code, error.type) if isinstance(name, str)}


def _unreached(error: openai.APIError) -> bool:
    """Return whether there was no connection, as the HTTP library below the client says."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _root(error: BaseException) -> str:
    """Return the innermost cause: the outer ones say "Connection error." for all of them."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return described(error)


def _asked_wait(error: openai.APIStatusError) -> float:
    """Return the seconds of Retry-After, which holds seconds or a date (RFC 9110, 10.2.3)."""
    asked = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or one with an absurd time zone
        return 0.0
