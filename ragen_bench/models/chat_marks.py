"""Marks of a chat template, such as `<|im_start|>`, that stand in a message and are only text.

A tokenizer reads its added tokens wherever they are written. So a conversation is rendered with
`GUARD` inside the marks of its messages, and encoded with the template's own marks renamed: what
is left unnamed is plain text, up to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from ragen_envs.core.protocol import STOP

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GUARD, _EDGE = "\ufdd0\ufdd1", "\ufdd1\ufdd0"
"""Stand inside a mark that is text, and around white space that a template must not strip."""
_OWN = "\ufdd2"
"""Begins the renamed marks of the template; Unicode reserves it, and no text keeps it."""
_FORM = re.compile(r"<\|.*\|>|</?(?:think|answer|tool_call|tool_response)>")
"""Added tokens that are marks though they are neither special nor in the template."""
_ANSWERS = re.compile(
    "think|thought|reason|answer|(?<!tool_)response|tool.?call|tool.sep|arg|python_tag|action",
    re.IGNORECASE,
)
"""Marks inside an answer, which a model's earlier answers keep as tokens."""
_INSTRUCTIONS = re.compile(
    rf"(in exactly this form[^:\n]*:\n(?:<think>REASONING</think>)?<answer>[^<\n]*{STOP})"
)
"""Instructions of the response protocol, which keep their tags as tokens."""
_INSERTED = re.compile(f"{GUARD}|{_EDGE}|{_OWN}")
_NOTHING = re.compile(r"(?!)")


def remove_guards(text: str) -> str:
    """Return a rendered text as it would read without guards."""
    return _INSERTED.sub("", text)


class Marks:
    """The added tokens that structure a conversation, by a tokenizer and its template.

    `plain` is a rendered conversation without an opened answer. Its marks open and close turns, so
    that an earlier answer that quotes them is text too.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, plain: str) -> None:
        self._tokenizer: Any = tokenizer
        source = str(tokenizer.chat_template)
        unknown = tokenizer.unk_token_id
        self._ids = {
            token.content: number
            for number, token in tokenizer.added_tokens_decoder.items()
            if token.content.strip()
            and number != unknown
            and (token.special or token.content in source or _FORM.fullmatch(token.content))
        }
        self._all = _find_any(self._ids)
        self._of_turns = _find_any(
            mark
            for mark in self._ids
            if (mark in plain or "channel" not in mark) and not _ANSWERS.search(mark)
        )

    def covers(self, text: str) -> bool:
        """Return whether a text is a sequence of marks, with white space between them."""
        return text != "" and not self._all.sub("", text).strip()

    def guard(self, part: Any, answer: bool = False) -> Any:
        """Return a message, or a part of one, with guards in the marks of its texts.

        Of an `answer`, only the marks of turns are guarded, and white space at the ends of its
        content, since the model has to read what it wrote.
        """
        guarded: Any = part
        if isinstance(part, dict):
            answer = answer or part.get("role") == "assistant"
            guarded = {
                name: value if name == "role" else self.guard(value, answer)
                for name, value in part.items()
            }
            content = guarded.get("content")
            if answer and isinstance(content, str) and content != content.strip():
                guarded["content"] = f"{_EDGE}{content}{_EDGE}"
        elif isinstance(part, list):
            guarded = [self.guard(inner, answer) for inner in part]
        elif isinstance(part, str) and answer:
            guarded = self._of_turns.sub(_break_up, part)
        elif isinstance(part, str) and self._all.search(part):
            pieces = _INSTRUCTIONS.split(part)
            pieces[::2] = [self._all.sub(_break_up, piece) for piece in pieces[::2]]
            guarded = "".join(pieces)
        return guarded

    def encode(self, text: str) -> list[int]:
        """Return the ids of a rendered text, in which guarded marks are plain text."""
        ids: list[int]
        if GUARD not in text and _EDGE not in text:
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            return ids
        pieces = self._all.split(text)
        pieces[::2] = [remove_guards(piece) for piece in pieces[::2]]
        if not self._tokenizer.is_fast:
            return self._encode_pieces(pieces)
        pieces[1::2] = [_OWN + mark for mark in pieces[1::2]]
        ids = self._rename.encode("".join(pieces), add_special_tokens=False).ids
        return ids

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Encode text and marks by turns, with a tokenizer that cannot be copied."""
        ids: list[int] = []
        for number, piece in enumerate(pieces):
            if number % 2:
                ids.append(self._ids[piece])
            elif piece:
                settings = {"add_special_tokens": False, "split_special_tokens": True}
                ids += self._tokenizer(piece, **settings)["input_ids"]
        return ids

    @cached_property
    def _rename(self) -> Tokenizer:
        """The tokenizer with other names of the marks, and the same ids."""
        content = json.loads(self._tokenizer.backend_tokenizer.to_str())
        names = {mark: _OWN + mark for mark in self._ids}
        model = content["model"]
        vocabulary = model["vocab"]
        for token in content["added_tokens"]:
            name = token["content"] = names.get(token["content"], token["content"])
            if isinstance(vocabulary, dict):
                vocabulary[name] = token["id"]
        if isinstance(vocabulary, dict):
            for mark in names:
                vocabulary.pop(mark, None)
            # Text must not be merged into a mark.
            model["merges"] = [
                merge
                for merge in model.get("merges", [])
                if "".join(merge.split(" ") if isinstance(merge, str) else merge) not in names
            ]
            if model["type"] != "BPE":
                del model["merges"]
        else:
            for mark, number in self._ids.items():
                if number < len(vocabulary):
                    vocabulary[number][0] = names[mark]
        content |= {"post_processor": None, "truncation": None, "padding": None}
        return Tokenizer.from_str(json.dumps(content))


def _find_any(marks: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern with one group that finds the longest mark at a place."""
    longest_first = sorted(marks, key=len, reverse=True)
    if not longest_first:
        return _NOTHING
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})(?!{GUARD})")


def _break_up(mark: re.Match[str]) -> str:
    return "".join(letter + GUARD for letter in mark[0])
