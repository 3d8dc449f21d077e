"""Chat templates: a conversation as the text and the tokens of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2.exceptions import TemplateError

from ragen_bench.errors import UserError, described
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Message
from ragen_bench.models.chat_messages import with_tool_calls
from ragen_bench.models.prompt import opening

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class RefusedConversationError(UserError):
    """A chat template refused a conversation, or failed; the reason is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model's chat template refuses a conversation: {reason}", exit_code=1)
        self.reason = reason


@dataclass(frozen=True)
class Chat:
    """A tokenizer with a chat template.

    With `merges_system`, the template refuses system messages, so that theirs is prepended to the
    first user message. With `supports_tools`, it describes the offered functions to the model.
    """

    tokenizer: PreTrainedTokenizerBase
    merges_system: bool
    supports_tools: bool = False

    def render(self, messages: Sequence[Message], functions: Sequence[JsonObject] = ()) -> str:
        """Return a conversation as text; UserError if the template refuses it or its functions."""
        merged = merge_system(messages) if self.merges_system else list(messages)
        if not functions:
            return _apply_template(self.tokenizer, merged)
        if not self.supports_tools:
            raise UserError(
                "the model's chat template does not describe functions; remove --format tools"
            )
        return _apply_template(self.tokenizer, with_tool_calls(merged, as_json=False), functions)

    def tokenize(
        self, messages: Sequence[Message], functions: Sequence[JsonObject] = ()
    ) -> list[int]:
        """Return a conversation as token ids; lone surrogates become question marks."""
        text = self.render(messages, functions).encode("utf-8", "replace").decode()
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def identity(self) -> dict[str, str]:
        """Return how conversations differ from those of other models, for the record."""
        return {"system_message": "merged"} if self.merges_system else {}


def make_chat(name: str, tokenizer: PreTrainedTokenizerBase) -> Chat:
    """Return the chat of a model's tokenizer; a UserError says that it has no usable template."""
    if tokenizer.chat_template is None:
        raise UserError(f"{name!r} has no chat template; evaluate an instruction-tuned model")
    conversation = sample_conversation()
    look = {"name": "look", "description": "", "parameters": {"type": "object"}}
    for merges, messages in ((False, conversation), (True, merge_system(conversation))):
        try:
            plain = _apply_template(tokenizer, messages)
        except RefusedConversationError as error:
            reason = error.reason
            continue
        try:
            functions = [{"type": "function", "function": look}]
            supports_tools = _apply_template(tokenizer, messages, functions) != plain
        except RefusedConversationError:
            supports_tools = False
        return Chat(tokenizer, merges, supports_tools)
    raise UserError(f"the chat template of {name!r} refuses a conversation: {reason}")


def sample_conversation() -> list[Message]:
    """Return a conversation with the beginning of every episode."""
    return [*opening("think"), {"role": "user", "content": "-"}]


def merge_system(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with the system message prepended to the first user message."""
    system, first, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _apply_template(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Mapping[str, object]],
    functions: Sequence[JsonObject] = (),
) -> str:
    try:
        # The library's types allow texts alone in a message.
        apply: Any = tokenizer.apply_chat_template
        text: str = apply(
            list(messages),
            tools=list(functions) or None,
            tokenize=False,
            add_generation_prompt=True,
        )
    except TemplateError as error:
        raise RefusedConversationError(str(error).partition("\n")[0]) from error
    except Exception as error:  # a template is a program, which may fail in any way
        raise RefusedConversationError(described(error)) from error
    return text
