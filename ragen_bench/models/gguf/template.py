"""The chat template of a GGUF file, rendered in the limited process; llama.cpp gets the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.chat_messages import RefusedConversationError, to_parts
from ragen_bench.models.templates import render

ECHO = "{% for message in messages %}{{ message.content }}{% endfor %}"
"""The template that llama.cpp has in place of the file's: it repeats a text."""
_DEFAULT, _WITH_TOOLS = "tokenizer.chat_template", "tokenizer.chat_template.tool_use"
_ASKED = "A question that stands for another."


@dataclass(frozen=True)
class FileTemplate:
    """The chat template of a file.

    Attributes:
        default: Template in Jinja.
        with_tools: Template of conversations with functions.
        day: Date that it may write, in ISO format.
        tokens: The variables `bos_token` and `eos_token`.
        has_parts: It shows contents that are lists of parts alone.
    """

    default: str
    with_tools: str
    day: str
    tokens: Mapping[str, str] = field(default_factory=dict)
    has_parts: bool = False

    def render(
        self, messages: Sequence[Mapping[str, object]], functions: Sequence[JsonObject] = ()
    ) -> str:
        """Return a conversation as text, with the opening of an answer."""
        variables = {
            **{"add_generation_prompt": True, "enable_thinking": True, **self.tokens},
            "messages": [to_parts(one) for one in messages] if self.has_parts else list(messages),
            **({"tools": list(functions)} if functions else {}),
        }
        return render(self.with_tools if functions else self.default, variables, self.day)


def make_template(
    file: str, templates: Mapping[str, str], tokens: Mapping[str, str], day: str
) -> FileTemplate:
    """Return the template among those of a file that shows a question, or raise UserError."""
    default = templates.get(_DEFAULT) or templates.get(_WITH_TOOLS, "")
    made = FileTemplate(default, templates.get(_WITH_TOOLS, default), day, tokens)
    reason = ""
    for template in (made, replace(made, has_parts=True)):
        try:
            if _ASKED in template.render([{"role": "user", "content": _ASKED}]):
                return template
        except RefusedConversationError as error:
            reason = reason or error.reason
    described = f"the chat template of {file!r} does not show a question"
    raise UserError(f"{described}: {reason}" if reason else described)
