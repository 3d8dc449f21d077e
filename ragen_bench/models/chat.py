"""Chat templates: a conversation as text and as tokens of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2.exceptions import TemplateError

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import Message
from ragen_bench.models.prompt import opening
from ragen_bench.models.tool_messages import with_calls


class RefusedConversationError(UserError):
    """A chat template refused a conversation, or failed.

    Args:
        reason: what it said, in one line.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model's chat template refuses a conversation: {reason}", exit_code=1)
        self.reason = reason


@dataclass(frozen=True)
class Chat:
    """A tokenizer with a chat template.

    Attributes:
        tokenizer: of transformers.
        merges_system: whether the template refuses a system message, which then leads the first
            user message.
        tells_functions: whether the template tells the model which functions it may call.
    """

    tokenizer: Any
    merges_system: bool
    tells_functions: bool = False

    def prompt(self, messages: Sequence[Message], functions: Sequence[dict[str, Any]] = ()) -> str:
        """Return a conversation as the model reads it, up to where its answer begins.

        Args:
            messages: the conversation.
            functions: that may be called, see `ragen_bench.models.tool_messages`.

        Raises:
            UserError: if there are functions, and the template tells models of none, or if it
                refuses the conversation.
        """
        shown = merged(messages) if self.merges_system else list(messages)
        if not functions:
            return _applied(self.tokenizer, shown)
        if not self.tells_functions:
            raise UserError(
                "the model's chat template tells it of no functions; leave --format tools out"
            )
        return _applied(self.tokenizer, with_calls(shown, as_json=False), functions)

    def read(
        self, messages: Sequence[Message], functions: Sequence[dict[str, Any]] = ()
    ) -> list[int]:
        """Return a conversation as token ids; the arguments are those of `prompt`.

        Lone surrogates, which observations may hold and no tokenizer takes, become question marks.
        """
        text = self.prompt(messages, functions).encode("utf-8", "replace").decode()
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def identity(self) -> dict[str, str]:
        """Return what makes conversations differ from those of other models, for the record."""
        return {"system_message": "merged"} if self.merges_system else {}


def chat_of(name: str, tokenizer: Any) -> Chat:
    """Return the chat of a model's tokenizer.

    Raises:
        UserError: if it has no template, or one that refuses any conversation.
    """
    if tokenizer.chat_template is None:
        raise UserError(f"{name!r} has no chat template; evaluate an instruction-tuned model")
    conversation = sample_conversation()
    for merges, messages in ((False, conversation), (True, merged(conversation))):
        try:
            _applied(tokenizer, messages)
        except RefusedConversationError as error:
            reason = error.reason
        else:
            return Chat(tokenizer, merges, _tells_functions(tokenizer, messages))
    raise UserError(f"the chat template of {name!r} refuses a conversation: {reason}")


def sample_conversation() -> list[Message]:
    """Return a conversation as every episode begins."""
    return [*opening("think"), {"role": "user", "content": "-"}]


def _tells_functions(tokenizer: Any, messages: Sequence[Message]) -> bool:
    function = {"name": "look", "description": "", "parameters": {"type": "object"}}
    functions = [{"type": "function", "function": function}]
    try:
        return _applied(tokenizer, messages, functions) != _applied(tokenizer, messages)
    except RefusedConversationError:
        return False


def merged(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with the system's text at the head of the first user message."""
    system, first, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _applied(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    functions: Sequence[dict[str, Any]] = (),
) -> str:
    try:
        text: str = tokenizer.apply_chat_template(
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
