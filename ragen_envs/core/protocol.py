"""The response protocol: parses and writes responses, their instructions and the feedback line.

Three response formats are handled here:

- ``think``: ``<think>reasoning</think><answer>Up || Left</answer>``, the default;
- ``answer``: ``<answer>Up || Left</answer>``, for models that are not asked to reason in the open;
- ``plain``: ``Up || Left``, for classical agents and people.

The fourth, ``tools``, is calls of functions, see `ragen_envs.core.tool_calls`.

Reading is linear in the length of the answer, and total: any str gives a `Parsed`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, get_args

from ragen_envs.core.wording import pluralize

ResponseFormat = Literal["think", "answer", "plain"]
RESPONSE_FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
AnswerFormat = Literal["think", "answer", "plain", "tools"]
"""The written response formats, and function calls."""
ANSWER_FORMATS: tuple[AnswerFormat, ...] = get_args(AnswerFormat)
HOW_TO_CALL = "Answer with a call of a function."
SEPARATOR = "||"
STOP = "</answer>"
"""The end of a response: engines stop generating here, and text after it breaks the format."""

# Text without one of the four tags, read in one way only, so that no answer costs more than a few
# passes. Before Python 3.11.5, a possessive group here matches nothing (CPython issue 106052).
_TEXT = r"[^<]*+(?:<(?!/?(?:think|answer)>)[^<]*+)*"
_ANSWER = rf"\s*<answer>({_TEXT})</answer>\s*"
_FORMS = {
    "think": re.compile(rf"\s*<think>{_TEXT}</think>{_ANSWER}").fullmatch,
    "answer": re.compile(_ANSWER).fullmatch,
}
_CACHED = 4096
_CACHED_LENGTH = 128


class Parsed(NamedTuple):
    """A parsed response.

    Attributes:
        format_valid: The response has the required format.
        actions: Indices of its known actions, in order; empty if the format is broken.
        actions_valid: The response names at least one action, and all are known.
        is_example: The response repeats the placeholder of the instructions.
    """

    format_valid: bool
    actions: tuple[int, ...]
    actions_valid: bool
    is_example: bool


class FreeText(NamedTuple):
    """An action in free text, in addition to the listed actions.

    Attributes:
        before: Prefix of the text.
        after: Suffix of the text, which the text does not contain.
        longest: Maximum number of characters that are read.
        form: Regular expression of valid texts, made of classes, groups, alternatives and counted
            repetitions only, which all kinds of grammars support; "" if any text is valid.
    """

    before: str
    after: str
    longest: int
    form: str = ""


class Function(NamedTuple):
    """A function that a model may call for an action.

    The text of an action is `before`, the argument and `after`.

    Attributes:
        name: Identifier of the function.
        about: Description in a sentence.
        parameter: Identifier of the argument.
        argument: Description of the argument in a sentence.
        before: Text before the argument.
        after: Text after the argument.
    """

    name: str
    about: str
    parameter: str
    argument: str
    before: str = ""
    after: str = ""


class Player(Protocol):
    """The interface shared by all players; every `TextEnv` is one."""

    @property
    def response_format(self) -> AnswerFormat:
        """Format of the responses."""
        ...

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """Names of the legal actions; empty after the end."""
        ...

    @property
    def free_text(self) -> FreeText | None:
        """The free-text action that is legal now, if there is one."""
        ...

    @property
    def actions_this_turn(self) -> int:
        """Maximum number of actions in this turn."""
        ...

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle takes in this turn."""
        ...


ACT = Function("act", "Take your turn.", "action", "What to do.")
"""The default function of a game."""
BROKEN = Parsed(format_valid=False, actions=(), actions_valid=False, is_example=False)


def body_of(answer: str, response_format: ResponseFormat) -> str | None:
    """Return the text that names the actions, or None if the format is broken.

    A tagged response consists of one think block (in ``think``) and one answer block, without
    tags inside them. White space around the blocks is allowed.
    """
    if response_format == "plain":
        return answer
    match = _FORMS[response_format](answer)
    return match[1] if match else None


class ActionReader:
    """Parses the actions of one game from the body of a response.

    Args:
        actions: Names of the actions; case and surrounding white space do not matter.
        example: Placeholder body in the instructions.

    Attributes:
        free: Free-text action that this reader also knows, if there is one.
    """

    free: FreeText | None = None

    def __init__(self, actions: Sequence[str], example: str) -> None:
        self.actions = tuple(actions)
        self._index = {name.lower(): i for i, name in enumerate(actions)}
        self._example = self._words(example)
        self._cache: dict[str, Parsed] = {}
        self._rests: dict[str, Parsed] = {}

    def __getstate__(self) -> dict[str, object]:
        """Leave the cache out of copies: it holds thousands of responses where games share it."""
        return {**vars(self), "_cache": {}, "_rests": {}}

    def read(self, answer: str, response_format: ResponseFormat) -> Parsed:
        """Parse a response. Never raises on a str."""
        if response_format == "plain":
            return self._cache.get(answer) or self._keep(self._cache, answer, answer)
        if response_format == "think" and answer[:7] == "<think>":
            # Thoughts are always new; the rest of a response often repeats, so it is cached.
            rest = answer[answer.find("<", 1) :]
            parsed = self._rests.get(rest)
            if parsed is not None:
                return parsed
            if rest[:8] == "</think>":
                return self._keep(self._rests, rest, body_of(rest[8:], "answer"))
        body = body_of(answer, response_format)
        return BROKEN if body is None else self.read(body, "plain")

    def _keep(self, cache: dict[str, Parsed], key: str, body: str | None) -> Parsed:
        parsed = BROKEN if body is None else self._parse(body)
        store(cache, key, parsed)
        return parsed

    def _words(self, body: str) -> list[str]:
        return [word.strip().lower() for word in body.split(SEPARATOR)]

    def _parse(self, body: str) -> Parsed:
        words = self._words(body)
        known = tuple(i for word in words if (i := self._index.get(word)) is not None)
        return Parsed(True, known, len(known) == len(words), words == self._example)


def store(cache: dict[str, Parsed], key: str, parsed: Parsed) -> None:
    """Add a parsed text to the cache, unless the text is long or the cache is full."""
    if len(key) <= _CACHED_LENGTH and len(cache) < _CACHED:
        cache[key] = parsed


def written_form(response_format: AnswerFormat) -> ResponseFormat:
    """Return the written format that replaces a format, "answer" for function calls."""
    return "answer" if response_format == "tools" else response_format


def format_answer(
    actions: Sequence[str], response_format: ResponseFormat, thought: str = ""
) -> str:
    """Write actions as a response in a format."""
    body = f" {SEPARATOR} ".join(actions)
    if response_format == "plain":
        return body
    answer = f"<answer>{body}</answer>"
    return f"<think>{thought}</think>{answer}" if response_format == "think" else answer


def instructions(example: str, response_format: AnswerFormat) -> str:
    """Return the instructions of a response format.

    Args:
        example: Placeholder for the actions. It is never a legal action, so that a copy of the
            instructions has no effect.
        response_format: one of `ANSWER_FORMATS`.
    """
    if response_format == "tools":
        return HOW_TO_CALL
    form = format_answer([example], response_format, "REASONING")
    lead = "First reason, then answer" if response_format == "think" else "Answer"
    several = f", with {SEPARATOR} between actions" if SEPARATOR in example else ""
    return f"{lead} in exactly this form{several}:\n{form}"


FEW = 9
"""Maximum number of actions for which a turn's line is cached in `LINES`. The look-up hashes every
name, and lines of longer lists, as on a shop's pages, rarely repeat."""

Turn = tuple[tuple[str, ...], tuple[int, ...], int, bool, bool, float, int, int]
"""The facts of a feedback line: names of all actions, indices of those that ran, number of dropped
actions, format validity, validity of the actions, reward in hundredths, turns and actions left."""


class Lines(dict[Turn, str]):
    """Cache of feedback lines."""

    def __missing__(self, turn: Turn) -> str:
        if len(self) == _CACHED:
            self.clear()
        line = self[turn] = feedback(turn)
        return line


LINES = Lines()
"""Looked up in every step: a dict is twice as fast as functools.lru_cache."""


def feedback(turn: Turn) -> str:
    """Return the line that reports the result of a response to the player."""
    names, ran, dropped, format_valid, actions_valid, points, turns, actions = turn
    if not format_valid:
        done = "The answer was not in the required form, so nothing was done."
    else:
        did = ", ".join(names[i] for i in ran) or "nothing"
        # A question ends itself.
        done = f"Done: {did}" if did.endswith((".", "?", "!")) else f"Done: {did}."
        if not actions_valid:
            done += " What is not an action was skipped."
        if dropped:
            last = "action was" if dropped == 1 else f"{dropped} actions were"
            done += f" The last {last} not run."
    budget = f"{pluralize(turns, 'turn')}, {pluralize(actions, 'action')}"
    return f"{done} Reward: {points / 100:g}. Remaining: {budget}."
