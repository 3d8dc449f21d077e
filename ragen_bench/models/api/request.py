"""Requests to a server under one sampling: retries, refused settings, and their outcome."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ragen_bench.errors import UserError
from ragen_bench.models.api.dialects import Dialect
from ragen_bench.models.api.errors import (
    ContextError,
    RefusedRequestError,
    RetryableError,
    adapt_settings,
    describe_refused,
)
from ragen_bench.models.api.options import ServerKey, ServerOptions
from ragen_bench.models.api.response import read_completion
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.base import Completion, Message, Request, RequestFailure, Sampling
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.pictures import to_content_parts
from ragen_bench.models.tool_messages import functions_of, with_tool_calls
from ragen_envs.core.instances import RandomStream

_T = TypeVar("_T")
_EMPTY: list[Message] = [{"role": "user", "content": "-"}]
_MAX_DOUBLINGS = 64
"""More would leave the range of a float after a thousand tries."""


@dataclass(frozen=True)
class ServerTarget:
    """A model on a server, with the settings that it refused and the user's extra fields.

    `send` takes a conversation, sampling settings and extra fields, and returns the response in
    OpenAI's protocol.
    """

    send: Callable[[Sequence[Message], Mapping[str, Any], Mapping[str, Any]], Awaitable[str]]
    url: str
    key: ServerKey
    dialect: Dialect
    refused: frozenset[str] = frozenset()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """All fields beyond OpenAI's protocol; the user's come last."""
        return {**self.dialect.extra, **self.extra}


class RequestSender:
    """Sends requests to a server, with one sampling.

    Raises:
        UserError: The server does not support the sampling.
    """

    def __init__(self, target: ServerTarget, options: ServerOptions, sampling: Sampling) -> None:
        if sampling.constrain and target.dialect.constrain is None:
            raise UserError(
                f"{target.url} is not known to hold answers to a grammar; leave --constrain out, "
                "or serve the model with vLLM, SGLang or llama.cpp"
            )
        self._target, self._options, self._sampling = target, options, sampling
        self._has_answered = False
        self._limit_fits = False
        self._limit_check = asyncio.Lock()

    async def find_refused(self) -> tuple[frozenset[str], str]:
        """Ask for one completion, and drop each setting that the server refuses by name.

        Returns:
            The refused settings, and a note for the user about them.

        Raises:
            UserError: The server refuses the request in any case.
        """
        while True:
            try:
                await self._ask(_EMPTY, 0, self._target.fields, 1.0)
            except RetryableError as error:
                raise UserError(self._describe_tries(error), exit_code=1) from error
            except ContextError as error:
                raise self._limit_error(error) from error
            except RefusedRequestError as error:
                refused = self._target.refused
                new = next((name for name in error.settings if name not in refused), None)
                if new is None:
                    raise
                self._target = replace(self._target, refused=refused | {new})
            else:
                refused = self._target.refused
                return refused, describe_refused(self._settings(0), refused)

    async def answer(self, request: Request) -> Completion | RequestFailure:
        """Return the completion of a request; a failure if each try failed.

        A refused request is a failure too, once the server has answered another one.

        Raises:
            UserError: The server refuses all requests, as far as is known.
        """
        # The seed depends on seed and key alone, and has 31 bits, which every server accepts.
        stream = RandomStream("sampling", self._sampling.seed, request.key)
        seed, spread = stream.word() >> 33, stream.word() / 2**64
        fields = {**self._target.fields, **self._constraint(request)}
        try:
            try:
                functions = functions_of(request.env)
                completion = await self._ask(request.messages, seed, fields, spread, functions)
            except ContextError as error:
                await self._check_limit(error)
                return Completion("", finish="context")
        except RetryableError as error:
            return RequestFailure(self._describe_tries(error))
        except RefusedRequestError as error:
            if not self._has_answered:
                raise
            return RequestFailure(str(error))
        self._has_answered = True
        self._check_constrained(request, completion)
        return completion

    def _describe_tries(self, error: RetryableError) -> str:
        tries = "1 try" if error.tries == 1 else f"{error.tries} tries"
        return f"{self._target.url} gave no answer in {tries}, the last time: {error}"

    def _constraint(self, request: Request) -> dict[str, Any]:
        constrain = self._target.dialect.constrain
        if constrain is None or not self._sampling.constrain:
            return {}
        return dict(constrain(request.env, self._sampling.max_tokens))

    async def _check_limit(self, overflow: ContextError) -> None:
        """Refuse a token limit that is too long for an empty conversation; asked once."""
        async with self._limit_check:
            if self._limit_fits:
                return
            try:
                await self._ask(_EMPTY, 0, self._target.fields, 1.0)
            except ContextError:
                raise self._limit_error(overflow) from overflow
            self._limit_fits = True

    def _limit_error(self, overflow: ContextError) -> UserError:
        return UserError(
            f"{self._target.url} refused a request: {overflow}; lower --max-tokens, or serve the "
            "model with a longer context",
            exit_code=1,
        )

    def _check_constrained(self, request: Request, completion: Completion) -> None:
        """Refuse a server that ignores the grammar, as old ones may."""
        if not self._sampling.constrain or completion.finish != "stop":
            return
        regex = answer_regex(request.env, self._sampling.max_tokens)
        if not re.fullmatch(regex, completion.text.strip()):
            raise UserError(
                f"{self._target.url} does not hold answers to the grammar: "
                f"{completion.text[:60]!r}; update the server, or leave --constrain out",
                exit_code=1,
            )

    async def _ask(
        self,
        messages: Sequence[Message],
        seed: int,
        fields: Mapping[str, Any],
        spread: float,
        functions: Sequence[dict[str, Any]] = (),
    ) -> Completion:
        async def send() -> Completion:
            return await self._try_once(messages, seed, fields, functions)

        return await retry(send, self._options, spread)

    async def _try_once(
        self,
        messages: Sequence[Message],
        seed: int,
        fields: Mapping[str, Any],
        functions: Sequence[dict[str, Any]],
    ) -> Completion:
        target, sampling = self._target, self._sampling
        settings = adapt_settings(self._settings(seed), target.refused)
        sent: list[Any] = to_content_parts(messages)
        if functions:
            settings = {**settings, "tools": list(functions)}
            sent = with_tool_calls(messages, as_json=True)
        body = await target.send([_replace_surrogates(m) for m in sent], settings, fields)
        cut_below = sampling.max_tokens if target.dialect.cuts_at_context else 0
        # A key that the server repeats must not enter a record.
        return read_completion(
            body,
            sampling.stop,
            cut_below,
            lambda text: remove_secrets(text, target.key),
            calls=bool(functions),
        )

    def _settings(self, seed: int) -> dict[str, Any]:
        """Return the sampling settings by their names in OpenAI's protocol."""
        sampling = self._sampling
        sends_stop = sampling.stop and self._target.dialect.keeps_stop
        return {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
            **({"stop": [sampling.stop]} if sends_stop else {}),
        }


async def retry(
    send: Callable[[], Awaitable[_T]],
    options: ServerOptions,
    spread: float = 1.0,
    should_retry: Callable[[RetryableError], bool] = lambda _error: True,
) -> _T:
    """Return the result of `send`, after as many retries as needed and allowed.

    Args:
        send: One try; raises a RetryableError if another may succeed.
        options: Time limit of a try, number of retries and waits.
        spread: From 0 to 1; spreads the retries of requests that failed together.
        should_retry: Decides which failures are retried.

    Raises:
        RetryableError: The last failure, with the number of tries.
    """
    tries = 0
    while True:
        try:
            tries += 1
            return await _send_in_time(send, options.timeout)
        except RetryableError as error:
            error.tries = tries
            if tries > options.retries or not should_retry(error):
                raise
            doublings = min(tries - 1, _MAX_DOUBLINGS)
            wait = min(options.longest_wait, options.first_wait * 2**doublings)
            await asyncio.sleep(max(error.retry_after, wait * (1 + spread) / 2))


async def _send_in_time(send: Callable[[], Awaitable[_T]], seconds: float) -> _T:
    try:
        async with asyncio.timeout(seconds):
            return await send()
    except TimeoutError:
        raise RetryableError(f"no answer within {seconds:g} s, see --timeout") from None


def _replace_surrogates(part: Any) -> Any:
    """Return a message without lone surrogates, which responses may hold and UTF-8 does not."""
    if isinstance(part, Mapping):
        return {name: _replace_surrogates(inner) for name, inner in part.items()}
    if isinstance(part, list):
        return [_replace_surrogates(inner) for inner in part]
    return part.encode("utf-8", "replace").decode() if isinstance(part, str) else part
