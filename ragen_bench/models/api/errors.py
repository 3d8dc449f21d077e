"""Errors of a server: whether a retry may succeed, and which settings it refuses."""

from __future__ import annotations

import email.utils
import json
import re
import time
from typing import NoReturn

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.overflow import is_overflow
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.base import Finish

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

_RETRIED = {408, 409, 424, 425, 429, 498, 499}
"""HTTP statuses that are retried, as are all from 500."""
_PER_REQUEST = {400, 413, 422, 451}
"""HTTP statuses that may depend on the conversation: a content filter, a limit on its size."""
_MAX_RETRY_AFTER = 120
_MAX_WORDS = 200
_FILTERED = re.compile("content_?(filter|policy)|responsibleai|data_?inspection_?failed")
"""Codes of a filter that refused a conversation, in lower case."""
_ABOUT_CONTENT = re.compile("flagged as potentially violating|敏感内容|inappropriate content")
"""Words of a filter that has no code of its own (OpenAI's invalid_prompt, Zhipu's 1301)."""
_UNREADABLE = re.compile(
    "tool_use_failed|json_validate_failed|output_parse_failed|failed_generation"
    "|failed to parse fc related|error in extracting tool call"
    "|failed to parse (the )?(model.?s )?(input at pos|output|tool|function|generated|response)"
    "|(generated|produced|returned) (an )?(invalid|malformed) (tool|function|json|call)"
)
"""Words about an answer of the model that its server cannot read, in lower case."""
_USED_UP = re.compile("max_tokens or model output limit was reached")
"""Words about thoughts that left no token for an answer (OpenAI), in lower case."""
_UNLOADED = re.compile("model (has )?(crashed|unloaded)|no models? loaded")
"""Words about a model that its server has to load again (LM Studio), in lower case."""
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


class ErrorInReplyError(Exception):
    """A reply of HTTP 200 that holds an error in place of a completion."""

    def __init__(self, body: object) -> None:
        super().__init__(str(body))
        codes = [body.get(name) for name in ("status", "code")] if isinstance(body, dict) else []
        self.body = body
        self.status = next((c for c in codes if isinstance(c, int) and 400 <= c < 600), 500)


class RedirectError(RejectedResponseError):
    """A redirect to another server, which must get no key and no conversation."""


class ContextError(Exception):
    """The conversation and the longest completion do not fit into the model's context."""


class FilterError(Exception):
    """The provider's filter refused the conversation."""


class UnreadableAnswerError(Exception):
    """The model answered, and its server could not read the answer; `text` is its quotation.

    `finish` is "length" if its thoughts used up the limit.
    """

    def __init__(self, words: str, body: object, finish: Finish = "stop") -> None:
        super().__init__(words)
        self.finish: Finish = finish
        quoted = body.get("failed_generation") if isinstance(body, dict) else None
        self.text = quoted if isinstance(quoted, str) else ""


class RefusedRequestError(UserError):
    """The server refused a request; it may accept other settings, or another conversation."""

    def __init__(self, message: str, settings: tuple[str, ...] = ()) -> None:
        super().__init__(message, exit_code=1)
        self.settings = settings


class RefusedKeyError(RefusedRequestError):
    """HTTP 401 or 403: a refused key, or a refused conversation if others were answered.

    `conversation` is the message about the conversation.
    """

    def __init__(self, message: str, conversation: str) -> None:
        super().__init__(message)
        self.conversation = conversation


def raise_client_error(
    error: openai.APIError | RejectedResponseError, url: str, key: ServerKey
) -> NoReturn:
    """Raise the meaning of an error of the OpenAI client, without the key's secrets.

    It is a RetryableError, a ContextError, a FilterError, an UnreadableAnswerError, a
    RefusedRequestError, or any other UserError with what to do.
    """
    raise_rejection(error, url, key)
    if not isinstance(error, openai.APIStatusError):
        # Only the innermost cause says more than "Connection error."
        root: BaseException = error
        while cause := root.__cause__ or root.__context__:
            root = cause
        unreached = type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
        raise RetryableError(remove_secrets(described(root), key), reached=not unreached) from error
    retry_after = error.response.headers.get("retry-after", "")
    raise_error_response(url, key, error.status_code, error.body, error.param, retry_after)


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
    body: object,
    setting: object = None,
    retry_after: str = "",
) -> NoReturn:
    """Raise the meaning of a server's error; see `raise_client_error`.

    `body` is the error in the response. `setting` is the one that it says is wrong, if it says so
    separately, and `retry_after` a header.
    """
    words = describe_response(status, body, key)
    named = (
        [body.get(name) for name in ("code", "type", "status")] if isinstance(body, dict) else []
    )
    names = frozenset(name for name in named if isinstance(name, str))
    if status in (401, 403):
        # The server's words about a refused key may contain a part of it.
        problem = "refuses the key of" if key.text else "wants a key: set"
        refused = f"{url} refused a request: {words if status == 403 else f'HTTP {status}'}"
        raise RefusedKeyError(f"{url} {problem} {key.variable} (HTTP {status})", refused) from None
    # The words that matter may be deep inside, where a gateway repeats another server's error.
    text = json.dumps(body, ensure_ascii=False, default=str)
    if is_overflow(status, names, text):
        raise ContextError(words)
    codes = f"{' '.join(names)} {_inner_code(body)}".lower()
    if status in _PER_REQUEST and (_FILTERED.search(codes) or _ABOUT_CONTENT.search(words)):
        raise FilterError(words)
    if status in _PER_REQUEST and _USED_UP.search(words):
        raise UnreadableAnswerError(words, body, "length")
    if (status in _PER_REQUEST or status >= 500) and _UNREADABLE.search(text.lower()):
        raise UnreadableAnswerError(words, body)
    is_unloaded = status in (400, 404) and _UNLOADED.search(words.lower())
    if (status in _RETRIED or status >= 500 or is_unloaded) and "insufficient_quota" not in names:
        seconds = _parse_retry_after(retry_after)
        if seconds <= _MAX_RETRY_AFTER:
            raise RetryableError(words, seconds, answered=True)
        words += f", and asks to wait {seconds:.0f} s"
    if status in (404, 405):
        words += "; does the base URL lack its /v1?"
    message = f"{url} refused a request: {words}"
    if status in _PER_REQUEST:
        settings = find_refused_settings(words, " ".join(names), setting)
        raise RefusedRequestError(message, settings)
    raise UserError(message, exit_code=1)


def _inner_code(body: object) -> str:
    inner = body.get("innererror") if isinstance(body, dict) else None  # of Azure
    return str(inner.get("code")) if isinstance(inner, dict) else ""


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
