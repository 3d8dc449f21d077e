"""Questions to a server under one sampling, with retries."""

from __future__ import annotations

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
    RetryableError,
    UnreadableAnswerError,
    raise_error_response,
)
from ragen_bench.models.api.message import count_tokens
from ragen_bench.models.api.response import read_completion
from ragen_bench.models.api.retries import retry
from ragen_bench.models.api.returned import AS_RECORDED, Style, return_messages
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.base import Completion, Message, Sampling
from ragen_bench.models.chat_messages import (
    make_id,
    replace_surrogates,
    to_content_parts,
    with_tool_calls,
)

if TYPE_CHECKING:
    from ragen_bench.models.api.base import ServerModel


class Sender:
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

        async def send() -> Completion:
            settings = self._settings(seed)
            limit = settings[LIMIT]
            for name in self._refused:
                settings.pop(name, None)
            if LIMIT in self._refused:
                settings[NEW_LIMIT] = limit
            sent = to_content_parts(messages)
            if functions:
                settings["tools"] = list(functions)
                form = self._model.call_form
                sent = with_tool_calls(
                    messages,
                    as_json=True,
                    names=names,
                    several=form is None or form.has_several,
                    plain=range(len(messages)) if style.calls_as_text else (),
                    make_id=form.make_id if form else make_id,
                )
            sent = return_messages(sent, kept, style)
            model = self._model
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
            text = remove_secrets(error.text, self._model.key)
            tokens = count_tokens({}, text, "")
            completion = Completion(
                text, 0, tokens.completion, error.finish, tokens_estimated=tokens.estimated
            )
        self._model.key_works = True
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
        """Return the tokens that the server counts in a conversation, 0 if it counts none.

        It is asked for an answer of one token.
        """
        sampling = replace(self._sampling, max_tokens=1, stop="", constrain=False)
        short = Sender(self._model, self._dialect, sampling, self._refused)
        short._options = replace(self._options, retries=min(1, self._options.retries))
        try:
            return (await short.ask(messages, 0, self._fields)).prompt_tokens
        except (RetryableError, ContextError, FilterError, UserError):
            return 0  # a run's own requests find out what is wrong
