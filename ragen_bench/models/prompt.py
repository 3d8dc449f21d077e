"""The conversation that a model reads, in evaluation and in training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ragen_bench.models.base import Message
from ragen_envs.core.protocol import AnswerFormat, ResponseFormat, format_answer, instructions

SYSTEM = (
    "You are a player in a text game. Reason briefly, then give your actions, "
    "always in the form that the game asks for."
)
OPPONENT_SYSTEM = (
    "You answer in a text game. Reply truthfully and briefly, "
    "always in the form that the game asks for."
)
FIRST = "A new game begins.\n\n"
"""Text before the first observation."""
SKIPPED = "\n\nTurns that are not shown: {count}.\n\n"
"""Text between the first observation and a later one."""
M = TypeVar("M", bound=Mapping[str, Any])
History = int | None
"""Number of past turns in a conversation; None for all."""
_DEMONSTRATION = (
    "You are in a dark room with a door and a lamp.\nActions: Open, Light.\n\nThe lamp is off.\n\n"
)
_DEMONSTRATION_THOUGHT = "It is dark, so I light the lamp first."
_OPPONENT_DEMONSTRATION = (
    "You answer for a traffic light. Reply with nothing but Red or Green.\n\n"
    "Cars are moving.\nQuestion 1: What is your colour?\n\n"
)
_OPPONENT_THOUGHT = "Cars are moving, so I am green."


def opening(response_format: AnswerFormat | None) -> list[Message]:
    """Return the messages before the first observation.

    One exchange from a game outside the suite demonstrates the format, which small models rarely
    find from the instructions alone. Its action exists in no other game. It is left out
    if the environment states its own format (None), or for "tools", where its function would not
    exist.
    """
    if response_format is None or response_format == "tools":
        return [{"role": "system", "content": SYSTEM}]
    return _demonstrate(
        SYSTEM, _DEMONSTRATION, "ACTION", "Light", _DEMONSTRATION_THOUGHT, response_format
    )


def _demonstrate(
    system: str,
    state: str,
    placeholder: str,
    action: str,
    thought: str,
    response_format: ResponseFormat,
) -> list[Message]:
    """Return the system message and an exchange that demonstrates the format."""
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": state + instructions(placeholder, response_format)},
        {"role": "assistant", "content": format_answer([action], response_format, thought)},
    ]


def conversation(
    observations: Sequence[str],
    answers: Sequence[str],
    response_format: AnswerFormat | None,
    history: History = None,
    pictures: Sequence[bytes] = (),
) -> list[Message]:
    """Return the messages of an episode so far, ending with the latest observation.

    The first observation, which has the rules, is always included. If `history` leaves turns out,
    the observation after them follows it in the same message, since templates want alternating
    roles. There is one more observation than answers, which are raw responses. A third-party
    environment that states its own format has `response_format` None. `pictures` has the board of
    each observation, or is empty if observations draw it.
    """
    left_out = 0 if history is None else max(0, len(answers) - history)
    first = FIRST + observations[0]
    if left_out:
        first += SKIPPED.format(count=left_out) + observations[left_out]
    messages: list[Message] = [{"role": "user", "content": first}]
    pairs = zip(answers[left_out:], observations[left_out + 1 :], strict=True)
    for answer, observation in pairs:
        messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": observation})
    if pictures:
        latest = pictures[left_out:]
        for message, picture in zip(messages[::2], latest, strict=True):
            message["pictures"] = [picture]
        if left_out:
            messages[0]["pictures"] = [pictures[0], latest[0]]
    return opening(response_format) + messages


def opponent_conversation(text: str, response_format: ResponseFormat) -> list[Message]:
    """Return the messages to an opponent: the format in an exchange, and the request."""
    opening_messages = _demonstrate(
        OPPONENT_SYSTEM,
        _OPPONENT_DEMONSTRATION,
        "REPLY",
        "Green",
        _OPPONENT_THOUGHT,
        response_format,
    )
    return [*opening_messages, {"role": "user", "content": text}]


def prompt_hash(
    response_format: AnswerFormat,
    history: History = None,
    opponent_format: ResponseFormat | None = None,
) -> str:
    """Return 16 hex digits that change with any text that is added to the observations."""
    messages = conversation(["", "", ""], ["", ""], response_format, history)
    # A history longer than this conversation changes only its number.
    opponents = [opponent_conversation("", opponent_format)] if opponent_format else []
    hashed = json.dumps([messages, history, *opponents])
    return hashlib.sha256(hashed.encode()).hexdigest()[:16]


def merge_system(messages: Sequence[M]) -> list[M]:
    """Return the messages with the system text at the beginning of the first user message."""
    if [message["role"] for message in messages[:2]] != ["system", "user"]:
        return list(messages)
    system, first, *rest = messages
    content: Any = [{"type": "text", "text": system["content"]}]
    if isinstance(first["content"], str):
        content = f"{system['content']}\n\n{first['content']}"
    else:
        content += first["content"]
    merged: Any = {**first, "content": content}
    return [merged, *rest]
