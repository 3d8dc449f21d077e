"""Models on a server: the common part of all protocols."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.dialects import DIALECTS, PLAIN
from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.api.message import read_calls as list_calls
from ragen_bench.models.api.options import ServerKey, ServerOptions
from ragen_bench.models.api.request import RequestSender
from ragen_bench.models.api.retries import ask_or
from ragen_bench.models.api.returned import AS_RECORDED, find_returned
from ragen_bench.models.api.secrets import hide_parts, hiding_in_errors
from ragen_bench.models.api.served_calls import read_served
from ragen_bench.models.api.served_template import ServedTemplate
from ragen_bench.models.api.stream import wants_stream
from ragen_bench.models.api.system_role import Part, is_dropped, refuses_system
from ragen_bench.models.async_engine import AsyncEngine, BackgroundLoop
from ragen_bench.models.base import Completion, Engine, Message, Sampling
from ragen_bench.models.call_reading import CallForm, read_completion
from ragen_bench.models.listed import describe_entry, read_context
from ragen_bench.models.prompt import merge_system
from ragen_bench.models.reasoning import let_think
from ragen_bench.models.thinking_marks import parse_marks

_NO_PARSER = re.compile("enable-auto-tool-choice|tool-call-parser|tool_call_parser")
"""In the words of a server that offers functions only if it is not to read the calls."""


class ServerModel(ABC):
    """Asks a server for a model, whose name there is `name`, many requests at once.

    `thinking_marks` is as in `--thinking-marks`; `template` is what is known of the chat template.
    """

    group_size = 1

    def __init__(
        self, name: str, options: ServerOptions, url: str, key: ServerKey, thinking_marks: str = ""
    ) -> None:
        self.template = ServedTemplate(parse_marks(thinking_marks) if thinking_marks else None)
        self.slots = options.concurrency
        self._name, self.options, self.url = name, options, url
        secrets = {word for _, value in options.headers for word in value.split()}
        # A header may name the model, and the list of models then names it too.
        self.key = key._replace(others=tuple(sorted(secrets - {name})))
        self.extra = json.loads(options.extra_body or "{}")
        self._loop = BackgroundLoop()
        self._entry: JsonObject | None = None
        self._refused: frozenset[str] | None = None
        self._asked_notes: list[str] = []
        self.key_works, self.style, self._writes_calls = False, AS_RECORDED, False
        self.streams = options.stream
        self.merges_system = self._knows_system = False
        self.has_answered = False
        self._calls_read_as: frozenset[str] = frozenset()
        self._has_parser = True

    async def ask(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send a request, whose system text leads the first user message if a server wants that.

        It does once it refuses the system role and takes the same conversation without. See `send`.
        """
        merged = partial(self._ask_streamed, cast(Any, merge_system(messages)), settings, fields)
        if self.merges_system:
            return await merged()
        body, has_merged = await ask_or(
            partial(self._ask_streamed, messages, settings, fields),
            merged,
            lambda words: refuses_system(words, messages),
        )
        if has_merged:
            self._merge_system("refuses system messages")
        return body

    def _merge_system(self, reason: str) -> None:
        self.merges_system = True
        self._add_note(f"{reason}, so that theirs lead the first user message")

    def resume(self, identity: JsonObject) -> None:
        """Ask as a recorded run did; nothing is recorded of a new one."""
        if identity:
            self.merges_system = identity.get("system_message") == "merged"
            self._knows_system = True
            self._calls_read_as = frozenset(identity.get("calls_read_as", ()))

    async def _ask_streamed(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send a request, streamed if asked for, or once the server says that it answers no others.

        See `send`.
        """
        was_streamed = self.streams
        send = partial(self._offer, messages, settings, fields)

        async def stream() -> str:
            self.streams = True
            try:
                return await send()
            except UserError:
                self.streams = False
                raise

        body, _ = await ask_or(send, stream, lambda words: not was_streamed and wants_stream(words))
        if self.streams and not was_streamed:
            self._add_note("answers streamed requests alone, so it is asked so, as with --stream")
        return body

    async def _offer(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send a request, which offers functions without a parser if need be; see `send`."""
        send = partial(self.send, messages, settings, fields)
        if "tools" not in settings:
            return await send()
        unread = partial(self.send, messages, {**settings, "tool_choice": "none"}, fields)
        if not self._has_parser:
            return await unread()
        body, is_unread = await ask_or(send, unread, lambda words: bool(_NO_PARSER.search(words)))
        self._has_parser = not is_unread
        return body

    def _add_note(self, note: str) -> None:
        """Add a note on how the server is asked, if it is a new one."""
        self._asked_notes = list(dict.fromkeys([*self._asked_notes, f"{self.url} {note}"]))

    @abstractmethod
    async def _find_entry(self) -> JsonObject:
        """Return the server's entry of the model; empty if it lists no models."""

    @abstractmethod
    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send one request, streamed if `streams`, and return the response in OpenAI's protocol.

        `settings` are those of the sampling, `fields` are extra. The errors are a RetryableError, a
        ContextError for a conversation that is too long, and a UserError for a refused request.
        """

    @property
    def call_form(self) -> CallForm | None:
        """The form of calls in the texts of responses; None if the server reads them itself."""
        return None

    def read_calls(self, completion: Completion, functions: Sequence[JsonObject]) -> Completion:
        """Return a completion without thoughts, with its calls as environments read them.

        Calls that the server leaves in the text are read in the form that the text shows.
        """
        form, marks = self.call_form if functions else None, self.template.thinking
        if form:
            return read_completion(completion, marks, partial(form.read, functions=functions))
        if not functions or completion.message is None or list_calls(completion.message):
            return completion

        def read(text: str) -> str:
            text, name = read_served(text, functions)
            if name:
                self._calls_read_as |= {name}
                self._add_note(
                    f"leaves calls in the text, which are read in the form {name}; start it with "
                    "its parser of calls to have them apart"
                )
            return text

        return read_completion(completion, marks, read)

    @property
    def context(self) -> int | None:
        """Context length of the model in tokens, if the server reports it."""
        return read_context(self._known_entry())

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the model is asked; complete once it has an engine."""
        unlisted = f"{self.url} lists no models, so that {self._name} is asked for unseen"
        return [*([] if self._entry or self._entry is None else [unlisted]), *self._asked_notes]

    def identity(self) -> JsonObject:
        """Return the server's description of the model, but not its address, which may change.

        `listed` is False if it lists no models. `extra_body` holds the user's extra fields. Once
        there is an engine, `refused` names settings that the server refused: they are left out,
        except that `max_tokens` is sent as `max_completion_tokens`. `system_message` is "merged"
        once the server has refused the system role, or was seen to drop its text.
        `calls_read_as` has the forms of calls that it left in the text of answers.
        """
        return {
            **describe_entry(self._entry_with_template()),
            **({"extra_body": self.extra} if self.extra else {}),
            **({"refused": sorted(self._refused)} if self._refused else {}),
            **({"system_message": "merged"} if self.merges_system else {}),
            **({"calls_read_as": sorted(self._calls_read_as)} if self._calls_read_as else {}),
            **self.template.thinking.identity(),
        }

    def probe(self) -> str:
        """Ask the server for its models, and return its address and its models.

        A UserError says that it cannot be reached, refuses the key, or does not serve the model.
        """
        try:
            with hiding_in_errors(self.hide_key):
                self._entry = self._loop.run(self._find_entry())
        except RetryableError as error:
            raise UserError(
                f"{self.url} does not say what it serves: {self.hide_key(str(error))}; start the "
                "server, or correct --base-url",
                exit_code=1,
            ) from error
        if not self._entry:
            return f"{self.url}, which lists no models"
        owner = self._entry.get("owned_by")
        by = f" by {owner}" if owner else ""
        tokens = f", {self.context} tokens" if self.context else ""
        return f"{self.url} serves {self._name}{by}{tokens}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine; an unknown kind of server is first asked which settings it refuses."""
        entry, context = self._entry_with_template(), self.context
        if context is not None and sampling.max_tokens >= context:
            raise UserError(
                f"{self.url} serves {self._name} with a context of {context} tokens; "
                f"lower --max-tokens, which is {sampling.max_tokens}"
            )
        sampling = let_think(sampling, self.template.thinking, self.template.opening)
        if str(entry.get("owned_by")) not in DIALECTS and self._refused is None:
            sender = RequestSender(self, PLAIN, sampling)
            with hiding_in_errors(self.hide_key):
                self._refused, note = self._loop.run(sender.find_refused())
            if note:
                self._add_note(f"{note}; run.json says so")
        sender = self._sender(sampling)
        # A server that refuses the system role is noticed by `ask`.
        is_known = self._knows_system or self.merges_system
        if not is_known and self._drops("system", sender) and not self.merges_system:
            self._merge_system("drops system messages in silence")
        self._knows_system = True
        return AsyncEngine(self._loop, self.slots, sender.answer)

    def _sender(self, sampling: Sampling) -> RequestSender:
        dialect = DIALECTS.get(str(self._known_entry().get("owned_by")), PLAIN)
        return RequestSender(self, dialect, sampling, self._refused or frozenset())

    def drops(self, part: Part, sampling: Sampling) -> bool:
        """Return whether the server's template is seen to drop a part of a conversation."""
        return self._drops(part, self._sender(sampling))

    def writes_calls(self) -> None:
        """Note that calls stand as text in a conversation which the server refused with them."""
        self._writes_calls = True
        self._add_note("refuses calls in a conversation; they stand there as text")

    def describe_returned(self, completion: Completion) -> str:
        """Return what goes back with the calls of a completion, as ", with x and y", or ""."""
        if self._writes_calls:
            return ", as text"
        names = find_returned(completion.message or {}, self.style)
        return f", with {' and '.join(names)}" if names else ""

    def _drops(self, part: Part, sender: RequestSender) -> bool:
        async def measure(messages: Sequence[Message]) -> int:
            return await self.measure_prompt(messages) or await sender.count_prompt(messages)

        return self._loop.run(is_dropped(measure, part))

    async def measure_prompt(self, messages: Sequence[Message]) -> int:  # noqa: ARG002 - of a server that shows it
        """Return the length of a conversation as the server renders it, 0 where it is not shown."""
        return 0

    def hide_key(self, text: str) -> str:
        """Return an error's text without any part of the key; see `hide_parts`."""
        return hide_parts(text, self.key, self.url)

    def _known_entry(self) -> JsonObject:
        if self._entry is None:
            self.probe()
        return self._entry or {}

    def _entry_with_template(self) -> JsonObject:
        """Return the server's entry, once the marks of its chat template are known."""
        return self._known_entry()
