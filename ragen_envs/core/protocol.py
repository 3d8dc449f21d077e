"""The answer protocol: reads actions from an answer, and writes answers and their instructions.

Three response formats are written here:

- ``think``: ``<think>reasoning</think><answer>Up || Left</answer>``, the default;
- ``answer``: ``<answer>Up || Left</answer>``, for models that are not asked to reason in the open;
- ``plain``: ``Up || Left``, for classical agents and people.

The fourth, ``tools``, is calls of functions, see `ragen_envs.core.tool_calls`.

Reading is linear in the length of the answer, and total: any str gives a `Parsed`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from ragen_envs.core.wording import counted

ResponseFormat = Literal["think", "answer", "plain"]
RESPONSE_FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
AnswerFormat = Literal["think", "answer", "plain", "tools"]
"""The forms of a player's answers: those that are written out, and calls of functions."""
ANSWER_FORMATS: tuple[AnswerFormat, ...] = get_args(AnswerFormat)
HOW_TO_CALL = "Answer with a call of a function."
SEPARATOR = "||"
STOP = "</answer>"
"""The end of an answer: engines stop generating here, and anything behind it breaks the form."""

# Text without one of the four tags. Possessive, so that no answer costs more than one pass.
_TEXT = r"[^<]*+(?:<(?!/?(?:think|answer)>)[^<]*+)*+"
_ANSWER = rf"\s*<answer>({_TEXT})</answer>\s*"
_FORMS = {
    "think": re.compile(rf"\s*<think>{_TEXT}</think>{_ANSWER}").fullmatch,
    "answer": re.compile(_ANSWER).fullmatch,
}
_CACHED = 4096
_CACHED_LENGTH = 128


class Parsed(NamedTuple):
    """What an answer says.

    Attributes:
        format_valid: the answer has the demanded form.
        actions: indices of the known actions in it, in order; empty if the form is broken.
        actions_valid: at least one action is named, and every one is known.
        is_example: the answer repeats the placeholder of the instructions.
    """

    format_valid: bool
    actions: tuple[int, ...]
    actions_valid: bool
    is_example: bool


class FreeText(NamedTuple):
    """An action in the player's own words, beside those that are listed.

    Attributes:
        before: what stands before the words.
        after: what stands behind them; they do not contain it.
        longest: characters of the words that count.
        form: what words that are an action look like, as a regular expression of classes, groups,
            alternatives and counted repetitions alone, which grammars of all kinds share; "" where
            any words are.
    """

    before: str
    after: str
    longest: int
    form: str = ""


class Function(NamedTuple):
    """A kind of actions, as a model calls it.

    The text of an action is `before`, the argument and `after`.

    Attributes:
        name: of the function, an identifier.
        about: what it does, in a sentence.
        parameter: the argument's name, an identifier.
        argument: what the argument is, in a sentence.
        before: what stands before the argument in the text.
        after: what stands behind it.
    """

    name: str
    about: str
    parameter: str
    argument: str
    before: str = ""
    after: str = ""


ACT = Function("act", "Take your turn.", "action", "What to do.")
"""The function of a game that names no others."""
BROKEN = Parsed(format_valid=False, actions=(), actions_valid=False, is_example=False)


def body_of(answer: str, response_format: ResponseFormat) -> str | None:
    """Return the text that names the actions, or None if the form is broken.

    A tagged answer is in form if, white space aside, it is one think block (in ``think``) and one
    answer block and nothing else, with no tag inside either.
    """
    if response_format == "plain":
        return answer
    match = _FORMS[response_format](answer)
    return match[1] if match else None


class ActionReader:
    """Reads the actions of one game out of the body of an answer.

    Args:
        actions: the names of the actions; case and surrounding white space do not matter.
        example: the placeholder body that the instructions show.

    Attributes:
        free: the action in the player's own words that this reader knows too, if there is one.
    """

    free: FreeText | None = None

    def __init__(self, actions: Sequence[str], example: str) -> None:
        self.actions = tuple(actions)
        self._index = {name.lower(): i for i, name in enumerate(actions)}
        self._example = self._words(example)
        self._cache: dict[str, Parsed] = {}
        self._rests: dict[str, Parsed] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave what was read out of copies: thousands of answers, where games share a reader."""
        return {**vars(self), "_cache": {}, "_rests": {}}

    def _words(self, body: str) -> list[str]:
        return [word.strip().lower() for word in body.split(SEPARATOR)]

    def read(self, answer: str, response_format: ResponseFormat) -> Parsed:
        """Return what the answer says. Never raises on a str."""
        if response_format == "plain":
            return self._cache.get(answer) or self._keep(self._cache, answer, answer)
        if response_format == "think" and answer[:7] == "<think>":
            # Thoughts are always new, and what follows them is not.
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

    def _parse(self, body: str) -> Parsed:
        words = self._words(body)
        indices = [self._index.get(word) for word in words]
        known = tuple(i for i in indices if i is not None)
        return Parsed(
            format_valid=True,
            actions=known,
            actions_valid=len(known) == len(words),
            is_example=words == self._example,
        )


def store(cache: dict[str, Parsed], key: str, parsed: Parsed) -> None:
    """Keep what was read of a text, unless it is long or much is kept already."""
    if len(key) <= _CACHED_LENGTH and len(cache) < _CACHED:
        cache[key] = parsed


def written_form(response_format: AnswerFormat) -> ResponseFormat:
    """Return the form of those who answer in words beside a player who may call functions."""
    return "answer" if response_format == "tools" else response_format


def format_answer(
    actions: Sequence[str], response_format: ResponseFormat, thought: str = ""
) -> str:
    """Write actions as an answer in the given format."""
    body = f" {SEPARATOR} ".join(actions)
    if response_format == "plain":
        return body
    answer = f"<answer>{body}</answer>"
    return f"<think>{thought}</think>{answer}" if response_format == "think" else answer


def instructions(example: str, response_format: AnswerFormat) -> str:
    """Return the sentences that tell a player how to answer.

    Args:
        example: placeholder words in the place of actions. They are never actions themselves, so
            that copying the instructions is never a useful answer.
        response_format: one of `ANSWER_FORMATS`.
    """
    if response_format == "tools":
        return HOW_TO_CALL
    form = {
        "think": f"<think>REASONING</think><answer>{example}</answer>",
        "answer": f"<answer>{example}</answer>",
        "plain": example,
    }[response_format]
    lead = "First reason, then answer" if response_format == "think" else "Answer"
    several = f", with {SEPARATOR} between actions" if SEPARATOR in example else ""
    return f"{lead} in exactly this form{several}:\n{form}"


_CACHED = 4096
_STOPS = (".", "?", "!")
FEW = 9
"""Names up to which a turn's line is looked up in `LINES`. Looking it up hashes every name, and
lines of more, as on a shop's pages, hardly come again."""

Turn = tuple[tuple[str, ...], tuple[int, ...], int, bool, bool, float, int, int]
"""What a line tells: the names of all actions, the numbers of those that ran, how many were
dropped; whether the answer had the demanded form, and whether all actions in it were known; the
reward in hundredths; turns left and actions left."""


class Lines(dict[Turn, str]):
    """The lines told lately, by their turns; the others are written when they are asked for."""

    def __missing__(self, turn: Turn) -> str:
        if len(self) == _CACHED:
            self.clear()
        line = self[turn] = feedback(turn)
        return line


LINES = Lines()
"""Looked up in every step: a dict is twice as fast as functools.lru_cache."""


def feedback(turn: Turn) -> str:
    """Return the line that tells a player what became of an answer."""
    names, ran, dropped, format_valid, actions_valid, points, turns, actions = turn
    if not format_valid:
        done = "The answer was not in the required form, so nothing was done."
    else:
        did = ", ".join(names[i] for i in ran) or "nothing"
        # A question ends itself.
        done = f"Done: {did}" if did.endswith(_STOPS) else f"Done: {did}."
        if not actions_valid:
            done += " What is not an action was skipped."
        if dropped:
            done += f" The last {_not_run(dropped)} not run."
    budget = f"{counted(turns, 'turn')}, {counted(actions, 'action')}"
    return f"{done} Reward: {points / 100:g}. Remaining: {budget}."


def _not_run(dropped: int) -> str:
    return "action was" if dropped == 1 else f"{dropped} actions were"
