"""Chat templates: a conversation as the text and the tokens of a model."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product, takewhile
from typing import TYPE_CHECKING, Any

from ragen_bench.errors import UserError, described
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Completion, Message
from ragen_bench.models.call_forms import learn_form, make_function
from ragen_bench.models.call_reading import CallForm, read_completion
from ragen_bench.models.chat_marks import Marks
from ragen_bench.models.chat_messages import (
    NO_FUNCTIONS,
    RefusedConversationError,
    settle,
    to_parts,
    with_tool_calls,
)
from ragen_bench.models.days import CLOCK, format_day, today
from ragen_bench.models.prompt import merge_system, opening
from ragen_bench.models.templates import render
from ragen_bench.models.thinking_marks import ThinkingMarks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_QUESTION, _ANSWER = "A question that stands for another.", "An answer that stands for another."


@dataclass(frozen=True)
class Chat:
    """A tokenizer with a chat template.

    With `merges_system`, the template refuses or drops system messages, so that theirs is prepended
    to the first user message. With `supports_tools`, it describes the offered functions to the
    model. `day` is the date that it may write, in ISO format, the same in a whole run. With
    `has_parts`, it shows contents that are lists of parts alone.
    """

    tokenizer: PreTrainedTokenizerBase
    merges_system: bool
    supports_tools: bool = False
    day: str = field(default_factory=lambda: today())
    has_parts: bool = False

    def render(self, messages: Sequence[Message], functions: Sequence[JsonObject] = ()) -> str:
        """Return a conversation as text; UserError if the template refuses it or its functions.

        Marks of the template in the messages have guards, which `encode` removes.
        """
        merged = merge_system(messages) if self.merges_system else list(messages)
        if functions and not self.supports_tools:
            raise UserError(NO_FUNCTIONS)

        def apply(shown: Sequence[Message], plain: Collection[int]) -> str:
            converted: Sequence[Mapping[str, object]] = shown
            if functions and (form := self.call_form):
                converted = with_tool_calls(
                    shown,
                    as_json=form.as_json,
                    several=form.has_several,
                    plain=plain,
                    make_id=form.make_id,
                )
            guard = self.marks.guard
            return self._apply([guard(one) for one in converted], [guard(f) for f in functions])

        return settle(merged, apply)

    @cached_property
    def call_form(self) -> CallForm | None:
        """How the template shows calls; None if they stay texts."""
        return learn_form(self._apply) if self.supports_tools else None

    def read(self, response: str, functions: Sequence[JsonObject]) -> str:
        """Return a response as environments read it, whatever form of calls the model has."""
        return (
            self.call_form.read(response, functions) if self.call_form and functions else response
        )

    def read_completion(
        self, completion: Completion, functions: Sequence[JsonObject], marks: ThinkingMarks
    ) -> Completion:
        """Return a completion without thoughts, with its calls as environments read them."""
        return read_completion(completion, marks, partial(self.read, functions=functions))

    def encode(self, text: str) -> list[int]:
        """Return rendered text as token ids; lone surrogates become question marks."""
        return self.marks.encode(text.encode("utf-8", "replace").decode())

    def tokenize(
        self, messages: Sequence[Message], functions: Sequence[JsonObject] = ()
    ) -> list[int]:
        """Return a conversation as token ids; its texts have none of the template's marks."""
        return self.encode(self.render(messages, functions))

    def identity(self) -> dict[str, str]:
        """Return how conversations differ from those of other models, for the record."""
        merged = {"system_message": "merged"} if self.merges_system else {}
        return {**merged, **({"date": self.day} if self.uses_day else {})}

    @property
    def uses_day(self) -> bool:
        """Whether the template can write the date."""
        return uses_day(self.tokenizer)

    @cached_property
    def marks(self) -> Marks:
        """The marks of the template."""
        try:
            plain = self._apply(self._make_answered_chat(), opens=False)
        except RefusedConversationError:
            plain = ""
        return Marks(self.tokenizer, plain)

    @cached_property
    def turn_end(self) -> str:
        """Text that the template puts after an answer, whatever follows; or "".

        White space is not one, nor is the opening of another turn.
        """
        answered = self._make_answered_chat()
        try:
            last, middle = (self._apply(answered[:end], opens=False) for end in (-1, None))
            before, _, after = middle.partition(_ANSWER)
            # A model that opens its answer itself may end several parts of it alike, as thoughts.
            opening = self._apply(answered[:-2]).rpartition(_QUESTION)[2]
            if not opening.startswith(before.rpartition(_QUESTION)[2].rstrip()):
                return ""
        except RefusedConversationError:
            return ""
        alone = last.partition(_ANSWER)[2]
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(alone, after, strict=False))
        common = "".join(letter for letter, _ in alike).strip()
        return common if common == alone.strip() or self.marks.covers(common) else ""

    def add_end(self, ends: Iterable[int]) -> frozenset[int]:
        """Return the ids that end an answer, with that of the template's end if it is one token."""
        ids = self.encode(self.turn_end)
        return frozenset(ends).union(ids if len(ids) == 1 else ())

    def find_end_text(self, ends: Container[int]) -> str:
        """Return the template's end of an answer if none of its tokens is in `ends`, or ""."""
        return "" if any(token in ends for token in self.encode(self.turn_end)) else self.turn_end

    def _make_answered_chat(self) -> list[Message]:
        answered: list[Message] = [
            *sample_conversation()[:-1],
            {"role": "user", "content": _QUESTION},
            {"role": "assistant", "content": _ANSWER},
            {"role": "user", "content": "-"},
        ]
        return merge_system(answered) if self.merges_system else answered

    def _apply(
        self,
        messages: Sequence[Mapping[str, object]],
        functions: Sequence[JsonObject] = (),
        opens: bool = True,
    ) -> str:
        shown = [to_parts(message) if self.has_parts else message for message in messages]
        tools = list(functions) or None
        try:
            if not _is_jinja(self.tokenizer):
                return self._apply_library(shown, tools, opens)
            template = self.tokenizer.get_chat_template(None, tools)
        except RefusedConversationError:
            raise
        except Exception as error:  # of a library's own template, which may fail in any way
            raise RefusedConversationError(described(error)) from error
        variables = {
            **self.tokenizer.special_tokens_map,
            **{"messages": shown, "tools": tools, "documents": None},
            "add_generation_prompt": opens,
        }
        return render(template, variables, self.day)

    def _apply_library(
        self, messages: Sequence[Mapping[str, object]], tools: list[JsonObject] | None, opens: bool
    ) -> str:
        """Render by a tokenizer's own method, which is not a template of a file."""
        apply: Any = self.tokenizer.apply_chat_template
        clock = {CLOCK: format_day(self.day)}
        text: str = apply(
            messages, tools=tools, tokenize=False, add_generation_prompt=opens, **clock
        )
        return text


def make_chat(name: str, tokenizer: PreTrainedTokenizerBase, day: str | None = None) -> Chat:
    """Return the chat of a model's tokenizer, on a day, today by default.

    A UserError says that it has no usable template.
    """
    if tokenizer.chat_template is None:
        raise UserError(f"{name!r} has no chat template; evaluate an instruction-tuned model")
    chats: list[Chat] = []
    reasons: list[str] = []
    for has_parts, merges in product((False, True), repeat=2):
        chat = Chat(tokenizer, merges, day=day or today(), has_parts=has_parts)
        try:
            plain = chat.render(sample_conversation())
        except RefusedConversationError as error:
            reasons.append(error.reason)
            continue
        chats.append(replace(chat, supports_tools=_describes_functions(chat, plain)))
        if _has_system(plain):
            return chats[-1]
    if not chats:
        raise UserError(f"the chat template of {name!r} refuses a conversation: {reasons[1]}")
    return chats[0]


def _is_jinja(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a tokenizer renders a template of its files."""
    from transformers import PreTrainedTokenizerBase

    return type(tokenizer).apply_chat_template is PreTrainedTokenizerBase.apply_chat_template


def uses_day(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a tokenizer's template can write the date."""
    return CLOCK in str(tokenizer.chat_template)


def _describes_functions(chat: Chat, plain: str) -> bool:
    """Return whether a conversation with functions differs from the one without them."""
    offering = replace(chat, supports_tools=True)
    try:
        return offering.render(sample_conversation(), [make_function("look")]) != plain
    except RefusedConversationError:
        return False


def _has_system(text: str) -> bool:
    """Return whether a rendered conversation has the text of the system message."""
    system = str(sample_conversation()[0]["content"])
    return " ".join(system.split()) in " ".join(text.split())


def sample_conversation() -> list[Message]:
    """Return a conversation with the beginning of every episode."""
    return [*opening("think"), {"role": "user", "content": "-"}]
