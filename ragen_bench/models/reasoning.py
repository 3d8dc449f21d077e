"""Completions of reasoning models: the thoughts are separated from the answer."""

from __future__ import annotations

import re
from dataclasses import replace

from ragen_bench.models.base import Completion
from ragen_envs.core.protocol import STOP, AnswerFormat

_BEGIN, _END = "<think>", "</think>"
_MARKS = re.compile(f"{_BEGIN}|{_END}|{STOP}")


def stop_text(response_format: AnswerFormat, constrain: bool) -> str:
    """Return the text after which engines stop generating, or "" for none.

    In the format "answer" there is none, unless a grammar ends the responses: a reasoning model
    repeats the requested format in its thoughts, which would be cut off. `without_reasoning`
    drops the text after its answer. Tool calls end by themselves.
    """
    ends_itself = response_format == "tools" or (response_format == "answer" and not constrain)
    return "" if ends_itself else STOP


def without_reasoning(completion: Completion, response_format: AnswerFormat) -> Completion:
    """Return the completion for the environment, with the thoughts moved to its reasoning.

    In the format "think" the thoughts are part of the text. In other formats, thoughts in the
    tags of reasoning models are removed, as is the text after the first end of an answer
    outside them. Neither reaches the environment or the next turn. The chat template may have
    written the first tag already, so that the completion only closes it. Before thoughts that
    are never closed, the text is kept. The function is idempotent.
    """
    if response_format == "think":
        return completion
    stop = "" if response_format == "tools" else STOP
    visible, thoughts = _split_thoughts(completion.text, stop)
    answer, stopped, _ = visible.partition(stop) if stop else (visible, "", "")
    if not (thoughts or stopped):
        return completion
    return replace(
        completion,
        text=answer + stopped,
        finish="stop" if stopped else completion.finish,
        reasoning="\n".join(filter(None, (completion.reasoning, *thoughts))),
    )


def _split_thoughts(text: str, stop: str) -> tuple[str, list[str]]:
    """Return the text without thoughts, at least up to the end of the answer, and the thoughts."""
    visible: list[str] = []
    thoughts: list[str] = []
    start, thinking = 0, False
    for mark in _MARKS.finditer(text):
        if mark[0] == STOP:
            if not stop:
                continue
            # Without a tag before it, this may be inside a thought that the template opened.
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
