"""Faults of a server, told apart by whether another try may succeed."""

from __future__ import annotations

import email.utils
import re
import time
from typing import Any, NamedTuple, NoReturn

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.models.api.connection import RedirectedError, RejectedReplyError, rejection
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.redaction import without_secrets
from ragen_bench.models.api.refusals import refused_settings

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

__all__ = [
    "ContextError",
    "PassingError",
    "Refusal",
    "RefusedRequestError",
    "openai",
    "raise_fault",
    "raise_refusal",
    "raise_rejection",
    "words_of",
]

_PASSING = {408, 409, 425, 429}
"""Besides all that begin with 5."""
_REFUSALS = {400, 413, 422}
"""What one conversation may meet and another not: a filter of contents, a limit on their size."""
_LONGEST_ASKED_WAIT = 120
_SHOWN = 200
_OVERFLOWS = {"context_length_exceeded", "exceed_context_size_error"}
"""OpenAI's code and llama.cpp's type of error."""
_OVERFLOW = re.compile(
    "maximum context length|maximum model length|context length is only"  # vLLM
    "|longer than the model's context length"  # SGLang, which has vLLM's first words too
    "|prompt is too long|exceed context limit"  # Anthropic
    "|exceeds the maximum number of tokens"  # Google
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


class RefusedRequestError(UserError):
    """The server refused what was asked; of another conversation it may not.

    Args:
        message: what is wrong.
        settings: those that the server names and that can be sent otherwise or left out.
    """

    def __init__(self, message: str, settings: tuple[str, ...] = ()) -> None:
        super().__init__(message, exit_code=1)
        self.settings = settings


class Refusal(NamedTuple):
    """What a server said that gave no answer.

    Attributes:
        status: the HTTP status.
        words: its own, in one line.
        names: what it calls the error.
        setting: the one that it says is wrong, if it says so apart from its words.
        retry_after: the header, "" if there is none.
    """

    status: int
    words: str
    names: frozenset[str] = frozenset()
    setting: Any = None
    retry_after: str = ""


def raise_fault(error: openai.APIError | RejectedReplyError, url: str, key: ServerKey) -> NoReturn:
    """Raise what an error of the protocol's client means.

    Args:
        error: the client's, or of what is below it.
        url: the server's base URL.
        key: the key, which never enters a message.

    Raises:
        PassingError: if another try may succeed.
        ContextError: if the conversation is too long.
        RefusedRequestError: if the server will not answer this request.
        UserError: if none of these, with what to do.
    """
    raise_rejection(error, url, key)
    if not isinstance(error, openai.APIStatusError):
        said = without_secrets(_root(error), key)
        raise PassingError(said, reached=not _unreached(error)) from error
    words = words_of(error.status_code, error.body, key)
    if error.status_code in (404, 405):
        words += "; does the base URL lack its /v1?"
    names = frozenset(name for name in (error.code, error.type) if isinstance(name, str))
    retry_after = error.response.headers.get("retry-after", "")
    raise_refusal(Refusal(error.status_code, words, names, error.param, retry_after), url, key)


def raise_rejection(error: BaseException, url: str, key: ServerKey) -> None:
    """Raise what it means that a reply was not taken, if an error of a library comes from that."""
    why = rejection(error)
    if isinstance(why, RedirectedError):
        raise UserError(f"{url} {without_secrets(str(why), key)}", exit_code=1) from error
    if why:
        raise PassingError(without_secrets(str(why), key), answered=True) from error


def raise_refusal(refusal: Refusal, url: str, key: ServerKey) -> NoReturn:
    """Raise what a server's refusal means; see `raise_fault`."""
    status, words = refusal.status, refusal.words
    # What a refused key is answered with may hold a part of it.
    if status in (401, 403):
        problem = "refuses the key of" if key.text else "wants a key: set"
        raise UserError(f"{url} {problem} {key.variable} (HTTP {status})", exit_code=1) from None
    if (status in _PASSING or status >= 500) and "insufficient_quota" not in refusal.names:
        wait = _seconds(refusal.retry_after)
        if wait <= _LONGEST_ASKED_WAIT:
            raise PassingError(words, wait, answered=True)
        words += f", and asks to wait {wait:.0f} s"
    if status not in (404, 405) and (refusal.names & _OVERFLOWS or _OVERFLOW.search(words)):
        raise ContextError(words)
    message = f"{url} refused a request: {words}"
    if status in _REFUSALS:
        settings = refused_settings(words, " ".join(refusal.names), refusal.setting)
        raise RefusedRequestError(message, settings)
    raise UserError(message, exit_code=1)


def words_of(status: int, body: Any, key: ServerKey) -> str:
    """Return the status and the server's own words, in one line without secrets.

    Args:
        status: the HTTP status.
        body: the reply, or the error in it.
        key: what is secret.
    """
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    line = without_secrets(" ".join(str(message or "").split()), key)
    line = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
    return f"HTTP {status} {line}".strip()


def _unreached(error: BaseException) -> bool:
    """Return whether there was no connection, as the HTTP library below the client says."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _root(error: BaseException) -> str:
    """Return the innermost cause: the outer ones say "Connection error." for all of them."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return described(error)


def _seconds(asked: str) -> float:
    """Return the seconds of Retry-After, which holds seconds or a date (RFC 9110, 10.2.3)."""
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or one with an absurd time zone
        return 0.0
