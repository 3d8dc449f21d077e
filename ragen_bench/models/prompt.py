"""The conversation that a model sees: the same for evaluation and training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

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
"""What stands before the first observation."""
SKIPPED = "\n\nTurns that are not shown: {count}.\n\n"
"""What stands between the first observation and a later one."""
History = int | None
"""How many past turns a conversation shows; None for all."""
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
    """Return what comes before the first observation.

    One exchange from a game that is not in the suite shows the form of an answer. Small models
    hardly ever find it from the instructions alone, and nothing in it is an action elsewhere.
    Where the environment states a form of its own (None), there is no such exchange, and none where
    answers are calls, since it could only show a function that is not there.
    """
    if response_format is None or response_format == "tools":
        return [{"role": "system", "content": SYSTEM}]
    return _shown(
        SYSTEM, _DEMONSTRATION, "ACTION", "Light", _DEMONSTRATION_THOUGHT, response_format
    )


def _shown(
    system: str,
    state: str,
    placeholder: str,
    action: str,
    thought: str,
    response_format: ResponseFormat,
) -> list[Message]:
    """Return the system's message and an exchange that shows the form of an answer."""
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

    The first observation, which holds the rules, is always there. If turns are left out, the
    observation after them follows it in the same message, as templates want roles to alternate.

    Args:
        observations: one more than answers.
        answers: the model's raw answers.
        response_format: the form that the opening demonstrates; None for that of another package's
            environment, which the environment states.
        history: the last turns that are kept, at least 0; None for all.
        pictures: of the board with each observation; none where observations draw it.
    """
    left_out = 0 if history is None else max(0, len(answers) - history)
    first = FIRST + observations[0]
    if left_out:
        first += SKIPPED.format(count=left_out) + observations[left_out]
    shown: list[Message] = [{"role": "user", "content": first}]
    pairs = zip(answers[left_out:], observations[left_out + 1 :], strict=True)
    for answer, observation in pairs:
        shown.append({"role": "assistant", "content": answer})
        shown.append({"role": "user", "content": observation})
    if pictures:
        kept = pictures[left_out:]
        for message, picture in zip(shown[::2], kept, strict=True):
            message["pictures"] = [picture]
        if left_out:
            shown[0]["pictures"] = [pictures[0], kept[0]]
    return opening(response_format) + shown


def opponent_conversation(text: str, response_format: ResponseFormat) -> list[Message]:
    """Return the messages to an opponent, who remembers nothing.

    As before a player's, there is one exchange that shows the form, with no reply of the games.

    Args:
        text: what it reads, complete in itself: task, state, question and form.
        response_format: the form that the exchange demonstrates.
    """
    shown = _shown(
        OPPONENT_SYSTEM,
        _OPPONENT_DEMONSTRATION,
        "REPLY",
        "Green",
        _OPPONENT_THOUGHT,
        response_format,
    )
    return [*shown, {"role": "user", "content": text}]


def prompt_hash(
    response_format: AnswerFormat,
    history: History = None,
    opponent_format: ResponseFormat | None = None,
) -> str:
    """Return 16 hex digits that change with anything the builder adds to the observations.

    Args:
        response_format: the form of the answers.
        history: past turns that the model is shown.
        opponent_format: the form of an opponent's answers; None where there is none.
    """
    built = conversation(["", "", ""], ["", ""], response_format, history)
    # A history longer than the conversation built here shows in nothing but its number.
    opponents = [opponent_conversation("", opponent_format)] if opponent_format else []
    hashed = json.dumps([built, history, *opponents])
    return hashlib.sha256(hashed.encode()).hexdigest()[:16]
