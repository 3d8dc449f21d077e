"""Answers of models that reason by themselves: what they thought, and what they said."""

from __future__ import annotations

from ragen_bench.models.base import Completion
from ragen_envs.protocol import ResponseFormat

_END = "</think>"
_BEGIN = "<think>"


def without_reasoning(completion: Completion, response_format: ResponseFormat) -> tuple[str, str]:
    """Return the answer that the environment gets, and the thoughts before it.

    In the form "think" the thoughts are a part of the answer. In the others, thoughts in the tags
    that reasoning models use themselves are taken out: the tags never reach the environment or the
    next turn. A chat template may have written the opening tag already, so that the answer only
    closes it. Thoughts that were never closed leave an empty answer.
    """
    text, reasoning = completion.text, completion.reasoning
    if response_format == "think":
        return text, reasoning
    thought, closed, answer = text.partition(_END)
    if not closed:
        opened = text.lstrip().startswith(_BEGIN)
        thought, answer = (text, "") if opened else ("", text)
    thought = thought.strip().removeprefix(_BEGIN).strip()
    return answer.lstrip() if closed else answer, "\n".join(filter(None, (reasoning, thought)))
