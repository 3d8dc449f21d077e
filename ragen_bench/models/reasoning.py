"""Answers of models that reason by themselves: what they thought, and what they said."""

from __future__ import annotations

import re
from dataclasses import replace

from ragen_bench.models.base import Completion
from ragen_envs.core.protocol import STOP, AnswerFormat

_BEGIN, _END = "<think>", "</think>"
_MARKS = re.compile(f"{_BEGIN}|{_END}|{STOP}")


def stop_text(response_format: AnswerFormat, constrain: bool) -> str:
    """Return the text after which engines stop generating, or "" for none.

    In the form "answer" they are not stopped: a model that reasons by itself repeats the demanded
    form in its thoughts, and would be cut off in the middle of them. What it says after its answer
    is dropped by `without_reasoning`. Calls of functions end by themselves.

    Args:
        response_format: the form of the answers.
        constrain: whether a grammar ends the answers.
    """
    own_end = response_format == "tools" or (response_format == "answer" and not constrain)
    return "" if own_end else STOP


def without_reasoning(completion: Completion, response_format: AnswerFormat) -> Completion:
    """Return the answer that the environment gets, with the thoughts in it as its reasoning.

    In the form "think" the thoughts are a part of the answer. In the others, thoughts in the tags
    that reasoning models use themselves are taken out, and what follows the first end of an answer
    outside them is dropped: neither tags nor thoughts reach the environment or the next turn. A
    chat template may have written the first tag already, so that the answer only closes it.
    Thoughts that were never closed leave what was said before them.

    What this returns, it returns unchanged.
    """
    if response_format == "think":
        return completion
    stop = "" if response_format == "tools" else STOP
    visible, thoughts = _parted(completion.text, stop)
    answer, stopped, _ = visible.partition(stop) if stop else (visible, "", "")
    if not (thoughts or stopped):
        return completion
    return replace(
        completion,
        text=answer + stopped,
        finish="stop" if stopped else completion.finish,
        reasoning="\n".join(filter(None, (completion.reasoning, *thoughts))),
    )


def _parted(text: str, stop: str) -> tuple[str, list[str]]:
    """Return what was said, up to the end of an answer at least, and what was thought before it.

    Args:
        text: the whole answer.
        stop: ends what was said; "" for nothing.
    """
    visible: list[str] = []
    thoughts: list[str] = []
    start, thinking = 0, False
    for mark in _MARKS.finditer(text):
        if mark[0] == STOP:
            if not stop:
                continue
            # Before the first tag it may be in a thought that the template opened.
            if thoughts and not thinking:
                visible.append(text[start : mark.end()])
                return "".join(visible).lstrip(), thoughts
        elif mark[0] == _END:
            thoughts.append(text[start : mark.start()].replace(_BEGIN, "").strip())
            start, thinking = mark.end(), False
        elif not thinking:
            visible.append(text[start : mark.start()])
            if stop and stop in visible[-1]:
                return "".join(visible), thoughts
            start, thinking = mark.end(), True
    if thinking:
        thoughts.append(text[start:].replace(_BEGIN, "").strip())
    else:
        visible.append(text[start:])
    return "".join(visible).lstrip() if thoughts else "".join(visible), thoughts
