"""Requests to a server under one sampling, with retries, and their outcomes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.dialects import PLAIN, Dialect
from ragen_bench.models.api.errors import (
    LIMIT,
    NEW_LIMIT,
    ContextError,
    ErrorInReplyError,
    FilterError,
    RefusedKeyError,
    RefusedRequestError,
    RetryableError,
    UnreadableAnswerError,
    raise_error_response,
)
from ragen_bench.models.api.message import count_tokens
from ragen_bench.models.api.response import read_completion
from ragen_bench.models.api.retries import retry
from ragen_bench.models.api.returned import AS_RECORDED, Style, kept_messages, return_messages
from ragen_bench.models.api.secrets import hiding_in_errors, remove_secrets
from ragen_bench.models.base import Completion, Message, Request, RequestFailure, Sampling
from ragen_bench.models.chat_messages import (
    functions_of,
    make_id,
    names_of,
    replace_surrogates,
    to_content_parts,
    with_tool_calls,
)
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.reasoning import cut_at_stop, read_thoughts
from ragen_envs.core.instances import RandomStream

if TYPE_CHECKING:
    from ragen_bench.models.api.base import ServerModel

_EMPTY: list[Message] = [{"role": "user", "content": "-"}]
_SYSTEM: Message = {"role": "system", "content": "-"}


class RequestSender:
    """Asks a server with one sampling, which it must support."""

    def __init__(
        self,
        model: ServerModel,
        dialect: Dialect,
        sampling: Sampling,
        refused: frozenset[str] = frozenset(),
    ) -> None:
        if sampling.constrain and dialect.constrain is None:
            raise UserError(
                f"{model.url} is not known to hold answers to a grammar; leave --constrain out, "
                "or serve the model with vLLM, SGLang or llama.cpp"
            )
        self._model, self._dialect, self._sampling = model, dialect, sampling
        self._refused, self._options = refused, model.options
        self._fields = {**dialect.extra, **model.extra}  # the user's come last
        self._has_answered, self.limit_fits = model.has_answered, False
        self._check = asyncio.Lock()

    async def ask(
        self,
        messages: Sequence[Message],
        seed: int,
        fields: JsonObject,
        functions: Sequence[JsonObject] = (),
        spread: float = 1.0,
        *,
        kept: Sequence[JsonObject | None] = (),
        style: Style = AS_RECORDED,
        names: frozenset[str] | None = None,
    ) -> Completion:
        """Return the completion of a conversation, which has other calls by another `style`."""
        model = self._model

        async def send() -> Completion:
            settings = self._settings(seed)
            if LIMIT in self._refused:
                settings[NEW_LIMIT] = settings[LIMIT]
            settings = {n: value for n, value in settings.items() if n not in self._refused}
            sent = to_content_parts(messages)
            if functions:
                settings["tools"] = list(functions)
                form = model.call_form
                sent = with_tool_calls(
                    messages,
                    as_json=True,
                    names=names,
                    several=form is None or form.has_several,
                    plain=range(len(messages)) if style.calls_as_text else (),
                    make_id=form.make_id if form else make_id,
                )
            sent = return_messages(sent, kept, style)
            body = await model.ask([replace_surrogates(m) for m in sent], settings, fields)
            try:
                return read_completion(
                    body,
                    # A server that was sent none may have written it in its thoughts.
                    "" if self._dialect is PLAIN else self._sampling.stop,
                    self._sampling.max_tokens if self._dialect.cuts_at_context else 0,
                    # A key that the server repeats must not enter a record.
                    lambda text: remove_secrets(text, model.key),
                    calls=bool(functions),
                )
            except ErrorInReplyError as error:
                raise_error_response(model.url, model.key, error.status, error.body)

        try:
            completion = await retry(send, self._options, spread)
        except UnreadableAnswerError as error:  # the model's doing, so an answer out of form
            text = remove_secrets(error.text, model.key)
            _, count, estimated = count_tokens({}, text, "")
            completion = Completion(text, 0, count, error.finish, tokens_estimated=estimated)
        model.key_works = True
        return completion

    def _settings(self, seed: int) -> JsonObject:
        """Return the sampling settings by their names in OpenAI's protocol."""
        sampling = self._sampling
        sends_stop = sampling.stop and self._dialect.keeps_stop
        return {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
            **({"stop": [sampling.stop]} if sends_stop else {}),
        }

    async def count_prompt(self, messages: Sequence[Message]) -> int:
        """Return the tokens that the server counts in a conversation, by an answer of one; or 0."""
        sampling = replace(self._sampling, max_tokens=1, stop="", constrain=False)
        short = RequestSender(self._model, self._dialect, sampling, self._refused)
        short._options = replace(self._options, retries=min(1, self._options.retries))
        try:
            return (await short.ask(messages, 0, self._fields)).prompt_tokens
        except (RetryableError, ContextError, FilterError, UserError):
            return 0  # a run's own requests find out what is wrong

    async def find_refused(self) -> tuple[frozenset[str], str]:
        """Ask for one completion, and drop each setting that the server refuses by name.

        Return these settings, and a note for the user about them. A UserError says that the
        server refuses the request in any case.
        """
        while True:
            try:
                await self.ask([_SYSTEM, *_EMPTY], 0, self._fields)
            except RetryableError as error:
                raise UserError(self._describe_tries(error), exit_code=1) from error
            except ContextError as error:
                raise self._limit_error(error) from error
            except FilterError as error:
                raise RefusedRequestError(f"{self._model.url} refused a request: {error}") from None
            except RefusedRequestError as error:
                new = next((name for name in error.settings if name not in self._refused), None)
                if new is None:
                    raise
                self._refused |= {new}
            else:
                return self._refused, self._describe_refused(self._settings(0))

    def _describe_refused(self, settings: JsonObject) -> str:
        notes = [f"takes {LIMIT} as {NEW_LIMIT}"] if LIMIT in self._refused else []
        names = sorted(self._refused - {LIMIT})
        if lost := [f"{name} ({settings[name]:g} was asked for)" for name in names]:
            notes.append(f"refuses {' and '.join(lost)}, so that its own default counts")
        return " and ".join(notes)

    async def answer(self, request: Request) -> Completion | RequestFailure:
        """Return the completion of a request; a failure if each try failed.

        A refused request is a failure too, once the server has answered another one. A
        UserError says that the server refuses all requests, as far as is known. Neither has a part
        of the key.
        """
        with hiding_in_errors(self._model.hide_key):
            answered = await self._answer(request)
        if isinstance(answered, RequestFailure):
            return replace(answered, reason=self._model.hide_key(answered.reason))
        return answered

    async def _answer(self, request: Request) -> Completion | RequestFailure:
        sampling = self._sampling
        # The seed depends on seed and key alone, and has 31 bits, which every server accepts.
        stream = RandomStream("sampling", sampling.seed, request.key)
        seed, spread = stream.word() >> 33, stream.word() / 2**64
        fields = self._fields
        if self._dialect.constrain and sampling.constrain:
            fields = fields | self._dialect.constrain(request.env, sampling.max_tokens)
        try:
            try:
                completion = await self._ask_in_style(request, seed, fields, spread)
            except ContextError as error:
                await self._check_limit(error)
                return Completion("", finish="context")
            except FilterError:
                completion = Completion("", finish="filtered")
        except RetryableError as error:
            return RequestFailure(self._describe_tries(error))
        except RefusedKeyError as error:
            await self._check_key(error)
            return RequestFailure(error.conversation)
        except RefusedRequestError as error:
            if not self._has_answered:
                raise
            return RequestFailure(str(error))
        kept_messages(request).append(completion.message)
        self._has_answered = True
        template = self._model.template
        for end in template.turn_ends:
            completion = replace(completion, text=completion.text.removesuffix(end))
        if request.env:
            form = request.env.response_format
            completion = read_thoughts(completion, form, template.thinking, template.opening)
            completion = self._model.read_calls(completion, functions_of(request.env))
        completion = cut_at_stop(completion, sampling.stop)
        if sampling.constrain and completion.finish == "stop":
            # Old servers ignore the grammar.
            regex = answer_regex(request.env, sampling.max_tokens)
            if not re.fullmatch(regex, completion.text.strip()):
                raise UserError(
                    f"{self._model.url} does not hold answers to the grammar: "
                    f"{completion.text[:60]!r}; update the server, or leave --constrain out",
                    exit_code=1,
                )
        return completion

    def _describe_tries(self, error: RetryableError) -> str:
        tries = "1 try" if error.tries == 1 else f"{error.tries} tries"
        return f"{self._model.url} gave no answer in {tries}, the last time: {error}"

    async def _ask_in_style(
        self, request: Request, seed: int, fields: JsonObject, spread: float
    ) -> Completion:
        """Ask, and after a refusal ask with the model's earlier turns in another style."""
        functions, names = functions_of(request.env), names_of(request.env)
        kept = kept_messages(request)
        style = self._model.style
        refusal: RefusedRequestError | RetryableError | None = None
        while True:
            try:
                asked = request.messages, seed, fields, functions, spread
                completion = await self.ask(*asked, kept=kept, style=style, names=names)
            except (RefusedRequestError, RetryableError) as error:
                refusal = refusal or error
                words, new = str(error), None
                if isinstance(error, RefusedRequestError):
                    new = style.after_refusal(words, request.messages, kept)
                # llama.cpp reports what its template refuses as an error of its own.
                if new is None and functions:
                    new = style.after_refused_calls(words, request.messages)
                if new is None:
                    raise refusal from None
                style = new
            else:
                self._model.style = self._model.style.widen(style)
                if style.calls_as_text:
                    self._model.writes_calls()
                return completion

    async def _check_key(self, refusal: RefusedKeyError) -> None:
        """Raise the refusal if the key is refused for an empty conversation too; asked once."""
        async with self._check:
            if not self._model.key_works:
                try:
                    await self.ask(_EMPTY, 0, self._fields)
                except RefusedKeyError:
                    raise refusal from None
                except (RetryableError, ContextError, FilterError, RefusedRequestError):
                    self._model.key_works = True

    async def _check_limit(self, overflow: ContextError) -> None:
        """Refuse a token limit too long for an empty conversation; asked once."""
        async with self._check:
            if self.limit_fits:
                return
            try:
                await self.ask(_EMPTY, 0, self._fields)
            except ContextError:
                raise self._limit_error(overflow) from overflow
            self.limit_fits = True

    def _limit_error(self, overflow: ContextError) -> UserError:
        return UserError(
            f"{self._model.url} refused a request: {overflow}; lower --max-tokens, or serve the "
            "model with a longer context",
            exit_code=1,
        )
