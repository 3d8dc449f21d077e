"""Completions of reasoning models: the thoughts are separated from the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ragen_bench.models.base import Completion, Sampling
from ragen_bench.models.thinking_marks import MARKS, THINK, ThinkingMarks, find_marks, parse_marks
from ragen_envs.core.protocol import STOP, AnswerFormat, body_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_TAG = re.compile("</?(?:think|answer)>")
_OPENED = re.compile(r"(?:\s*<answer>)+\s*")
_CLOSING = ("end", "answer")
"""Kinds of marks after which the answer may follow."""
_TAIL = 64
"""Tokens at the end of a prompt in which a thought that it opens is searched."""


def stop_text(response_format: AnswerFormat, constrain: bool) -> str:
    """Return the text after which engines stop generating, or "" for none.

    In the format "answer" nothing stops them, unless a grammar does: a reasoning model
    repeats the requested format in its thoughts, which would be cut off. `without_reasoning`
    drops the text after its answer. Tool calls end by themselves.
    """
    ends_itself = response_format == "tools" or (response_format == "answer" and not constrain)
    return "" if ends_itself else STOP


def without_reasoning(completion: Completion, response_format: AnswerFormat) -> Completion:
    """Return the completion for the environment, with the thoughts moved to its reasoning.

    In the format "think" the thoughts are part of the text. In other formats, thoughts in the
    default marks are removed, see `read_thoughts`. The function is idempotent.
    """
    return completion if response_format == "think" else read_thoughts(completion, response_format)


def read_thoughts(
    completion: Completion,
    response_format: AnswerFormat,
    marks: ThinkingMarks = THINK,
    opening: str = "",
    *,
    knows_prompt: bool = False,
) -> Completion:
    """Return a completion whose thoughts have the place that the format gives them.

    In the format "think" they are in `<think>` tags, whose own tags become blanks; in the others
    they are moved to the reasoning. Only an answer that is not in form as it stands is changed.
    Then the text after the last closing mark is the answer, and so is the text before the first end
    of an answer outside thoughts. Before thoughts that are never closed, the text is kept.

    `opening` is the thought that the prompt opened for the model, see `ThinkingMarks.opening`. A
    thought may be closed that the model did not open, as a server's template may have. With
    `knows_prompt` the prompt opens nothing else, and in "think" such a mark breaks the form.
    """
    text = completion.text
    if completion.reasoning:  # of a server that knows the opened thought too
        opening = ""
    if response_format == "think":
        is_begun = opening or not knows_prompt or _begins(text, marks)
        if completion.reasoning or not is_begun or body_of(text, "think") is not None:
            return completion
        whole = text if opening and text.startswith(opening) else opening + text
        answer = whole if body_of(whole, "think") is not None else _as_think(whole, marks)
        is_whole = body_of(answer, "think") is not None
        finish = "stop" if is_whole else completion.finish
        return completion if answer == text else replace(completion, text=answer, finish=finish)
    if opening:
        is_closed = _closes(opening, marks)
        # A response that ended by itself without a closing mark was an answer alone.
        is_answer = completion.finish == "stop" and not _closes(text, marks)
        if is_closed or not (is_answer or _has_answer(_read(text, response_format, marks)[0])):
            text = opening + text
    visible, thoughts = _read(text, response_format, marks)
    stop = "" if response_format == "tools" else STOP
    answer, stopped, _ = visible.partition(stop) if stop else (visible, "", "")
    answer += stopped
    if marks.wraps_answers and response_format != "answer":
        answer = _unwrap(answer)
    if not (thoughts or stopped or answer != completion.text):
        return completion
    made = replace(
        completion,
        text=answer,
        finish="stop" if stopped else completion.finish,
        reasoning="\n".join(filter(None, (completion.reasoning, *thoughts))),
    )
    # Texts around a thought may make another mark.
    may_change = marks.patterns and made != completion
    return read_thoughts(made, response_format, marks) if may_change else made


def cut_at_stop(completion: Completion, stop: str) -> Completion:
    """Return a completion that ends with the stop text, if it has one."""
    text, stopped, _ = completion.text.partition(stop) if stop else (completion.text, "", "")
    return replace(completion, text=text + stopped, finish="stop") if stopped else completion


def suggest_marks(texts: Sequence[str], response_format: AnswerFormat) -> str:
    """Return the name of marks in which more of the responses are in form, or ""."""
    if response_format not in ("think", "answer"):
        return ""

    def count(marks: ThinkingMarks) -> int:
        read = (read_thoughts(Completion(text), response_format, marks).text for text in texts)
        return sum(body_of(text, response_format) is not None for text in read)

    best = max(MARKS, key=count)
    return best.name if count(best) > count(THINK) else ""


@dataclass(frozen=True)
class ThoughtReader:
    """Reads the thoughts of one model, of which the tokenizer is known."""

    tokenizer: PreTrainedTokenizerBase
    option: str = ""

    @cached_property
    def marks(self) -> ThinkingMarks:
        """Marks of `--thinking-marks`, else those of the chat template or the vocabulary."""
        if self.option:
            return parse_marks(self.option)
        return find_marks(str(self.tokenizer.chat_template), self.tokenizer.get_vocab())

    def opening(self, prompt: Sequence[int]) -> str:
        """Return the thought that a prompt of token ids opens for the model; see `marks`."""
        tail = self.tokenizer.decode(list(prompt[-_TAIL:]), clean_up_tokenization_spaces=False)
        return self.marks.opening(str(tail))

    def continue_opening(self, response: str, prompt: Sequence[int]) -> str:
        """Return a response in form as it goes on from a thought that the prompt opens, if any."""
        opening = self.opening(prompt)
        if not opening or _closes(opening, self.marks):
            return response
        thought, closed, answer = response.removeprefix("<think>").partition("</think>")
        end = self.marks.end if opening.startswith(self.marks.begin) else "</think>"
        return f"{thought}{end}{answer}" if closed else f"{end}{response}"

    def read(
        self, completion: Completion, response_format: AnswerFormat, prompt: Sequence[int]
    ) -> Completion:
        """Return the completion of a prompt as `read_thoughts` does."""
        opening = self.opening(prompt)
        return read_thoughts(completion, response_format, self.marks, opening, knows_prompt=True)


def let_think(sampling: Sampling, marks: ThinkingMarks, opening: str) -> Sampling:
    """Return the sampling of a model that thinks in other marks, or after an opened thought.

    It does not stop at the end of an answer, which thoughts may repeat.
    """
    has_own = marks != THINK or (opening and not _closes(opening, marks))
    return replace(sampling, stop="") if has_own and not sampling.constrain else sampling


def _closes(text: str, marks: ThinkingMarks) -> bool:
    """Return whether a text has a mark that ends a thought."""
    return any(mark.lastgroup in _CLOSING for mark in marks.pattern.finditer(text))


def _begins(text: str, marks: ThinkingMarks) -> bool:
    """Return whether a text has a mark that begins a thought."""
    return any(mark.lastgroup == "begin" for mark in marks.pattern.finditer(text))


def _unwrap(text: str) -> str:
    """Return an answer without the tags around it."""
    if not (opened := _OPENED.match(text)):
        return text
    pieces = text[opened.end() :].split(STOP)
    while len(pieces) > 1 and not pieces[-1].strip():
        pieces.pop()
    return STOP.join(pieces).rstrip()


def _has_answer(text: str) -> bool:
    """Return whether a text without thoughts is an answer in its tags."""
    return body_of(text, "answer") is not None


def _as_think(text: str, marks: ThinkingMarks) -> str:
    """Return a response with its thoughts in `<think>` tags."""
    visible, thoughts = _read(text, "think", marks)
    if thoughts and _has_answer(visible):
        thought = _TAG.sub(" ", "\n".join(filter(None, thoughts)))
        return f"<think>{thought}</think>{visible}"
    if marks == THINK:
        return text
    return marks.pattern.sub(
        lambda mark: {"begin": "<think>", "end": "</think>"}.get(mark.lastgroup or "", mark[0]),
        text,
    )


def _read(text: str, response_format: AnswerFormat, marks: ThinkingMarks) -> tuple[str, list[str]]:
    """Return the answer, at least up to its end, and the thoughts."""
    stop = "" if response_format == "tools" else STOP
    visible, thoughts = _split(text, marks, stop)
    answer, stopped, _ = visible.partition(STOP)
    is_done = stopped if response_format == "plain" else _has_answer(answer + stopped)
    if not thoughts or response_format == "tools" or is_done:
        return (answer + stopped if stop else visible), thoughts
    found = [mark for mark in marks.pattern.finditer(text) if mark.lastgroup != "stop"]
    ends = [mark for mark in found if mark.lastgroup in _CLOSING]
    # Text before the first thought is not a part of it, unless a mark lacks its opening.
    is_whole = 2 * len(ends) > len(found) or not text[: found[0].start()].strip()
    if not ends or not is_whole:
        return visible, thoughts
    last = ends[-1]
    rest, stopped, _ = _split(text[last.end() :], marks, "")[0].lstrip().partition(STOP)
    if response_format != "plain" and not _has_answer(rest + stopped):
        return visible, thoughts
    return rest + stopped, [marks.pattern.sub(_keep_stop, text[: last.start()]).strip()]


def _keep_stop(mark: re.Match[str]) -> str:
    return mark[0] if mark.lastgroup == "stop" else " "


def _split(text: str, marks: ThinkingMarks, stop: str) -> tuple[str, list[str]]:
    """Return the text without thoughts, at least up to the end of the answer, and the thoughts."""
    if not marks.may_be_in(text):
        return text, []
    visible: list[str] = []
    thoughts: list[str] = []
    start, end, thinking, answering = 0, len(text), False, False
    for mark in marks.pattern.finditer(text):
        kind = mark.lastgroup
        # Without a mark before it, a stop text may be inside a thought that the template opened.
        if kind == "stop" and stop and not thinking and (thoughts or answering):
            end = mark.end()
            break
        if kind == "stop" or (kind == "begin" and thinking):
            continue
        piece = text[start : mark.start()]
        if kind == "begin" and stop and stop in piece:
            end = mark.start()
            break
        is_thought = kind in _CLOSING and (thinking or _ends_unopened(mark, marks, answering))
        (thoughts if is_thought else visible).append(piece)
        answering = answering or kind == "answer"
        start, thinking = mark.end(), kind == "begin"
    (thoughts if thinking else visible).append(text[start:end])
    joined = "".join(visible)
    return joined.lstrip() if thoughts or answering else joined, [
        marks.pattern.sub(_without_begin, thought).strip() for thought in thoughts
    ]


def _ends_unopened(mark: re.Match[str], marks: ThinkingMarks, answering: bool) -> bool:
    """Return whether the text before a mark is a thought, though no mark opened it."""
    if mark.lastgroup == "answer":  # the last one counts, and ends all that precedes it
        return answering or not marks.end
    return not answering or mark[0] == "</think>"


def _without_begin(mark: re.Match[str]) -> str:
    return "" if mark.lastgroup == "begin" else mark[0]
