"""Errors of a server: whether a retry may succeed, and which settings it refuses."""

from __future__ import annotations

import email.utils
import re
import time
from typing import NoReturn

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.secrets import remove_secrets

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

_RETRIED = {408, 409, 425, 429}
"""HTTP statuses that are retried, as are all from 500."""
_PER_REQUEST = {400, 413, 422}
"""HTTP statuses that may depend on the conversation: a content filter, a limit on its size."""
_MAX_RETRY_AFTER = 120
_MAX_WORDS = 200
_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error"}
"""The code of OpenAI and the type of llama.cpp."""
_OVERFLOW = re.compile(
    "maximum context length|maximum model length|context length is only"  # vLLM
    "|longer than the model's context length"  # SGLang, which also uses vLLM's first phrase
    "|prompt is too long|exceed context limit"  # Anthropic
    "|exceeds the maximum number of tokens"  # Google
)
LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
_OPTIONAL_SETTINGS = ("top_p", "seed", "temperature")
"""Settings that can be left out, the least important first."""
_UNSUPPORTED = re.compile(
    "unsupported|not support|unrecogni|not recogni|unknown|unexpected|not permitted|deprecated|both"
)
"""Words about a setting itself, as opposed to a value out of range."""


class RetryableError(Exception):
    """One try failed; another may succeed.

    `retry_after` is the number of seconds that the server asks to wait. `answered`: it sent a
    response; `reached`: it took the connection and then dropped it. `tries` counts the tries so
    far.
    """

    def __init__(
        self, reason: str, retry_after: float = 0.0, answered: bool = False, reached: bool = False
    ) -> None:
        super().__init__(reason)
        self.reached = reached
        self.retry_after = retry_after
        self.answered = answered
        self.tries = 1


class RejectedResponseError(Exception):
    """A response that is not accepted."""


class RedirectError(RejectedResponseError):
    """A redirect to another server, which must get no key and no conversation."""


class ContextError(Exception):
    """The conversation and the longest completion do not fit into the model's context."""


class RefusedRequestError(UserError):
    """The server refused a request; it may accept other settings, or another conversation."""

    def __init__(self, message: str, settings: tuple[str, ...] = ()) -> None:
        super().__init__(message, exit_code=1)
        self.settings = settings


def raise_client_error(
    error: openai.APIError | RejectedResponseError, url: str, key: ServerKey
) -> NoReturn:
    """Raise the meaning of an error of the OpenAI client, without the key's secrets.

    It is a RetryableError, a ContextError, a RefusedRequestError, or any other UserError with
    what to do.
    """
    raise_rejection(error, url, key)
    if not isinstance(error, openai.APIStatusError):
        # Only the innermost cause says more than "Connection error."
        root: BaseException = error
        while cause := root.__cause__ or root.__context__:
            root = cause
        unreached = type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
        raise RetryableError(remove_secrets(described(root), key), reached=not unreached) from error
    words = describe_response(error.status_code, error.body, key)
    if error.status_code in (404, 405):
        words += "; does the base URL lack its /v1?"
    names = frozenset(name for name in (error.code, error.type) if isinstance(name, str))
    retry_after = error.response.headers.get("retry-after", "")
    status = error.status_code
    raise_error_response(url, key, status, words, names, error.param, retry_after)


def raise_rejection(error: BaseException, url: str, key: ServerKey) -> None:
    """Raise the meaning of a rejected response, if one caused a library's error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RejectedResponseError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, RedirectError):
        raise UserError(f"{url} {remove_secrets(str(cause), key)}", exit_code=1) from error
    if cause:
        raise RetryableError(remove_secrets(str(cause), key), answered=True) from error


def raise_error_response(
    url: str,
    key: ServerKey,
    status: int,
    words: str,
    names: frozenset[str],
    setting: object,
    retry_after: str,
) -> NoReturn:
    """Raise the meaning of a server's error; see `raise_client_error`.

    `words` is the server's message in one line, `names` its code and type of the error. `setting`
    is the one that it says is wrong, if it says so separately, and `retry_after` a header.
    """
    # The server's words about a refused key may contain a part of it.
    if status in (401, 403):
        problem = "refuses the key of" if key.text else "wants a key: set"
        raise UserError(f"{url} {problem} {key.variable} (HTTP {status})", exit_code=1) from None
    if (status in _RETRIED or status >= 500) and "insufficient_quota" not in names:
        seconds = _parse_retry_after(retry_after)
        if seconds <= _MAX_RETRY_AFTER:
            raise RetryableError(words, seconds, answered=True)
        words += f", and asks to wait {seconds:.0f} s"
    if status not in (404, 405) and (names & _OVERFLOW_CODES or _OVERFLOW.search(words)):
        raise ContextError(words)
    message = f"{url} refused a request: {words}"
    if status in _PER_REQUEST:
        settings = find_refused_settings(words, " ".join(names), setting)
        raise RefusedRequestError(message, settings)
    raise UserError(message, exit_code=1)


def describe_response(status: int, body: object, key: ServerKey) -> str:
    """Return the status and the server's message, in one line without secrets."""
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    line = remove_secrets(" ".join(str(message or "").split()), key)
    line = line if len(line) <= _MAX_WORDS else f"{line[:_MAX_WORDS]}..."
    return f"HTTP {status} {line}".strip()


def find_refused_settings(words: str, code: str = "", parameter: object = None) -> tuple[str, ...]:
    """Return the settings named by a refusal that can be renamed or left out.

    `parameter` is the setting that the server says is wrong, if it says so separately.
    """
    if not _UNSUPPORTED.search(f"{code} {words}".lower()):
        return ()
    named = {parameter} if isinstance(parameter, str) else set(re.findall(r"\w+", words))
    # The token limit is never left out, but renamed if the server gives its new name.
    renamed = (LIMIT,) if LIMIT in named and NEW_LIMIT in words else ()
    return renamed + tuple(name for name in _OPTIONAL_SETTINGS if name in named)


def _parse_retry_after(text: str) -> float:
    """Return the seconds of Retry-After, which is a number or a date (RFC 9110, 10.2.3)."""
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):  # not a date, or one with an absurd time zone
        return 0.0
