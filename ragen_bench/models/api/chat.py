"""One request to a server: the answer, the overflow of the context or the fault."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.api.dialects import Dialect
from ragen_bench.models.api.faults import (
    ContextError,
    PassingError,
    RefusedRequestError,
)
from ragen_bench.models.api.options import ServerKey, ServerOptions
from ragen_bench.models.api.redaction import without_secrets
from ragen_bench.models.api.refusals import refusal_note, without_refused
from ragen_bench.models.api.reply import completion_of
from ragen_bench.models.api.retries import with_retries
from ragen_bench.models.base import Completion, Fault, Message, Request, Sampling
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.pictures import with_parts
from ragen_bench.models.tool_messages import functions_of, with_calls
from ragen_envs.core.instances import RandomStream

_EMPTY: list[Message] = [{"role": "user", "content": "-"}]


@dataclass(frozen=True)
class ServerPlace:
    """Where a model is.

    Attributes:
        send: sends one request and returns the reply as OpenAI's protocol has it, from the
            conversation, the sampling's settings and further fields.
        url: the server's base URL.
        key: the key that it wants.
        dialect: what else the server understands.
        refused: settings that it refused.
        further: fields that the user adds to each request.
    """

    send: Callable[[Sequence[Message], Mapping[str, Any], Mapping[str, Any]], Awaitable[str]]
    url: str
    key: ServerKey
    dialect: Dialect
    refused: frozenset[str] = frozenset()
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """What requests hold beside OpenAI's protocol; what the user adds counts."""
        return {**self.dialect.extra, **self.further}


class Chat:
    """Asks a server, with one sampling.

    Args:
        place: where the model is.
        options: how long and how often it is asked.
        sampling: how answers are sampled.

    Raises:
        UserError: if the server cannot sample so.
    """

    def __init__(self, place: ServerPlace, options: ServerOptions, sampling: Sampling) -> None:
        if sampling.constrain and place.dialect.constraint is None:
            raise UserError(
                f"{place.url} is not known to hold answers to a grammar; leave --constrain out, or "
                "serve the model with vLLM, SGLang or llama.cpp"
            )
        self._place, self._options, self._sampling = place, options, sampling
        self._answered = False
        self._limit_fits = False
        self._limit_check = asyncio.Lock()

    async def find_refused(self) -> tuple[frozenset[str], str]:
        """Ask for one answer, without each setting that the server refuses by its name.

        Returns:
            The settings that are not sent from now on, or not by their names, and a line of what
            becomes of them.

        Raises:
            UserError: if there is no answer in any case.
        """
        while True:
            try:
                await self._ask(_EMPTY, 0, self._place.fields, 1.0)
            except PassingError as error:
                raise UserError(self._given_up(error), exit_code=1) from error
            except ContextError as error:
                raise self._no_room(error) from error
            except RefusedRequestError as error:
                refused = self._place.refused
                new = next((name for name in error.settings if name not in refused), None)
                if new is None:
                    raise
                self._place = replace(self._place, refused=refused | {new})
            else:
                refused = self._place.refused
                return refused, refusal_note(self._settings(0), refused)

    async def answer(self, request: Request) -> Completion | Fault:
        """Return the answer; a Fault if each try failed, while another might have succeeded.

        A request that the server refuses is a Fault too once it has answered another one.

        Raises:
            UserError: if the server refuses all requests, as far as can be known.
        """
        # A pure function of seed and key, in 31 bits, which every server takes.
        stream = RandomStream("sampling", self._sampling.seed, request.key)
        seed, spread = stream.word() >> 33, stream.word() / 2**64
        fields = {**self._place.fields, **self._constraint(request)}
        try:
            try:
                functions = functions_of(request.env)
                completion = await self._ask(request.messages, seed, fields, spread, functions)
            except ContextError as error:
                await self._check_limit(error)
                return Completion("", finish="context")
        except PassingError as error:
            return Fault(self._given_up(error))
        except RefusedRequestError as error:
            if not self._answered:
                raise
            return Fault(str(error))
        self._answered = True
        self._check_form(request, completion)
        return completion

    def _given_up(self, error: PassingError) -> str:
        often = "1 try" if error.tries == 1 else f"{error.tries} tries"
        return f"{self._place.url} gave no answer in {often}, the last time: {error}"

    def _constraint(self, request: Request) -> dict[str, Any]:
        constraint = self._place.dialect.constraint
        if constraint is None or not self._sampling.constrain:
            return {}
        return dict(constraint(request.env, self._sampling.max_tokens))

    async def _check_limit(self, refusal: ContextError) -> None:
        """Refuse a limit for which not even an empty conversation leaves room; asked for once."""
        async with self._limit_check:
            if self._limit_fits:
                return
            try:
                await self._ask(_EMPTY, 0, self._place.fields, 1.0)
            except ContextError:
                raise self._no_room(refusal) from refusal
            self._limit_fits = True

    def _no_room(self, refusal: ContextError) -> UserError:
        return UserError(
            f"{self._place.url} refused a request: {refusal}; lower --max-tokens, or serve the "
            "model with a longer context",
            exit_code=1,
        )

    def _check_form(self, request: Request, completion: Completion) -> None:
        """Refuse a server that lets pass what the grammar does not; older ones may overlook it."""
        if not self._sampling.constrain or completion.finish != "stop":
            return
        form = answer_regex(request.env, self._sampling.max_tokens)
        if not re.fullmatch(form, completion.text.strip()):
            raise UserError(
                f"{self._place.url} does not hold answers to the grammar: {completion.text[:60]!r};"
                " update the server, or leave --constrain out",
                exit_code=1,
            )

    async def _ask(
        self,
        messages: Sequence[Message],
        seed: int,
        fields: Any,
        spread: float,
        functions: Sequence[Any] = (),
    ) -> Completion:
        async def send() -> Completion:
            return await self._try(messages, seed, fields, functions)

        return await with_retries(send, self._options, spread)

    async def _try(
        self, messages: Sequence[Message], seed: int, fields: Any, functions: Sequence[Any]
    ) -> Completion:
        place, sampling = self._place, self._sampling
        settings = without_refused(self._settings(seed), place.refused)
        sent: list[Any] = with_parts(messages)
        if functions:
            settings = {**settings, "tools": list(functions)}
            sent = with_calls(messages, as_json=True)
        body = await place.send([_sendable(message) for message in sent], settings, fields)
        cut_below = sampling.max_tokens if place.dialect.fills_context else 0
        # A server that repeats the key must not bring it into a record.
        return completion_of(
            body,
            sampling.stop,
            cut_below,
            lambda text: without_secrets(text, place.key),
            calls=bool(functions),
        )

    def _settings(self, seed: int) -> dict[str, Any]:
        """Return how the answer is sampled, by the names of OpenAI's protocol."""
        sampling = self._sampling
        stops = sampling.stop and self._place.dialect.keeps_stop
        return {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
            **({"stop": [sampling.stop]} if stops else {}),
        }


def _sendable(part: Any) -> Any:
    """Return a message without lone surrogates, which answers may hold and UTF-8 does not."""
    if isinstance(part, Mapping):
        return {name: _sendable(inner) for name, inner in part.items()}
    if isinstance(part, list):
        return [_sendable(inner) for inner in part]
    return part.encode("utf-8", "replace").decode() if isinstance(part, str) else part
