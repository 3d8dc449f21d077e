"""The marks that model families put around their thoughts and their final answers."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

from ragen_bench.errors import UserError, unknown
from ragen_bench.json_types import JsonObject
from ragen_envs.core.protocol import STOP


@dataclass(frozen=True)
class ThinkingMarks:
    """The marks of a model's thoughts.

    Attributes:
        name: Name of the family, as in `--thinking-marks NAME`; "" for the user's own marks.
        begin: Mark before a thought.
        end: Mark after a thought; "" if the final answer's mark ends it.
        answer: Mark before the final answer; "" for none.
        answer_end: Mark after the final answer; "" for none.
        signs: Texts that are all in a template or vocabulary with these marks; by default `begin`
            and `end`.
        patterns: Regular expressions for marks that are more than a text, by attribute.
        aliases: Other names.
        calls_end_thoughts: A call of a function ends a thought that no mark ended.
        wraps_answers: `<answer>` and `</answer>` are marks around any answer.
    """

    name: str
    begin: str
    end: str
    answer: str = ""
    answer_end: str = ""
    signs: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    calls_end_thoughts: bool = False
    wraps_answers: bool = False

    def occur_in(self, texts: Container[str]) -> bool:
        """Return whether a template, or a vocabulary, has the marks."""
        return all(sign in texts for sign in self.signs or (self.begin, self.end))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the marks, those of the default and the end of a response, as groups by kind."""
        patterns = dict(self.patterns)
        kinds = {
            kind: patterns.get(kind) or re.escape(text)
            for kind in ("answer", "answer_end", "begin", "end")
            if (text := getattr(self, kind))
        }
        for kind, default in (("begin", "<think>"), ("end", "</think>")):
            kinds[kind] = "|".join(dict.fromkeys(filter(None, (kinds.get(kind), default))))
        groups = [f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items()]
        return re.compile("|".join([*groups, f"(?P<stop>{STOP})"]))

    def may_be_in(self, text: str) -> bool:
        """Return whether a text has a mark's first character; `pattern` is slower in long texts."""
        marks = self.begin, self.end, self.answer, self.answer_end, STOP
        return bool(self.patterns) or any(
            first in text for first in dict.fromkeys(mark[0] for mark in marks if mark)
        )

    def opening(self, prompt: str) -> str:
        """Return the thought that a prompt opens, or opens and closes, for the model; or ""."""
        place = max(prompt.rfind(begin) for begin in {self.begin, "<think>"})
        opened = prompt[place:] if place >= 0 else ""
        ends = tuple(filter(None, {self.end, "</think>"}))
        inside = self.pattern.sub("", opened).strip()
        return opened if not inside or opened.rstrip().endswith(ends) else ""

    def identity(self) -> JsonObject:
        """Return the marks for the record; empty for the default."""
        if self == THINK:
            return {}
        return {"thinking_marks": self.name or f"{self.begin} {self.end}"}


THINK = ThinkingMarks("think", "<think>", "</think>", aliases=("nemotron", "qwen", "deepseek"))
"""The default."""
_CHANNEL, _HEADER = r"(?:<\|start\|>assistant)?<\|channel\|>", r"[^<]*(?:<\|constrain\|>[^<]*)?"
"""Before and behind the name of a channel."""
_THOUGHT = "(?:analysis|commentary(?! to=))"
MARKS = (
    ThinkingMarks(
        "response", "<think>", "</think>", "<response>", "</response>", ("<think>", "<response>")
    ),
    ThinkingMarks(
        "hunyuan",
        "<think>",
        "</think>",
        "<answer>",
        signs=("<think>", "<answer>", "</answer>"),
        # Around an answer that has the tags of the requested format itself.
        patterns=(("answer", r"<answer>(?=\s*<answer>)"),),
        wraps_answers=True,
    ),
    ThinkingMarks(
        "gpt-oss",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<|channel|>final<|message|>",
        "<|return|>",
        ("<|channel|>", "<|message|>"),
        # The second forms are those of a server that leaves special tokens out of the text.
        patterns=(
            (
                "begin",
                rf"{_CHANNEL}(?:analysis|commentary(?! to=)){_HEADER}<\|message\|>|\Aanalysis",
            ),
            ("answer", rf"{_CHANNEL}final{_HEADER}<\|message\|>|assistantfinal|\Afinal(?=<)"),
        ),
        aliases=("harmony",),
        calls_end_thoughts=True,
    ),
    ThinkingMarks(
        "gemma",
        "<|channel>thought",
        "<channel|>",
        signs=("<|channel>", "<channel|>"),
        aliases=("gemma4",),
    ),
    ThinkingMarks(
        "granite",
        "Here is my thought process:",
        "",
        "Here is my response:",
        signs=("Here is my thought process:", "Here is my response:"),
        patterns=(
            ("begin", r"\A\s*Here(?:'s| is) my thought process:"),
            ("answer", "Here(?:'s| is) my response:"),
        ),
        calls_end_thoughts=True,
    ),
    ThinkingMarks(
        "cohere",
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        patterns=(
            ("answer", r"<\|START_(?:RESPONSE|TEXT)\|>"),
            ("answer_end", r"<\|END_(?:RESPONSE|TEXT)\|>"),
        ),
        aliases=("command",),
    ),
    ThinkingMarks("seed-oss", "<seed:think>", "</seed:think>", aliases=("seed",)),
    ThinkingMarks("magistral", "[THINK]", "[/THINK]", aliases=("mistral",)),
    ThinkingMarks("kimi", "◁think▷", "◁/think▷", signs=("◁/think▷",)),
    ThinkingMarks(
        "openthoughts",
        "<|begin_of_thought|>",
        "<|end_of_thought|>",
        "<|begin_of_solution|>",
        "<|end_of_solution|>",
    ),
    ThinkingMarks("apertus", "<|inner_prefix|>", "<|inner_suffix|>"),
    THINK,
    ThinkingMarks("thought", "<thought>", "</thought>", aliases=("exaone",)),
    ThinkingMarks("thinking", "<thinking>", "</thinking>"),
    ThinkingMarks("reasoning", "<reasoning>", "</reasoning>"),
    ThinkingMarks("reason", "<reason>", "</reason>"),
)
"""The known families; the first one that occurs in a template is chosen."""
_BEGINS, _ENDS = (
    re.compile("|".join(dict.fromkeys(filter(None, patterns))))
    for patterns in (
        (re.escape(marks.begin) for marks in MARKS),
        (re.escape(marks.end) or dict(marks.patterns)["answer"] for marks in MARKS),
    )
)
_NAMES = {name: marks for marks in MARKS for name in (marks.name, *marks.aliases)}


def find_marks(*texts: Container[str]) -> ThinkingMarks:
    """Return the marks that occur in a template, else in a vocabulary; the default if none do."""
    found = (marks for text in texts for marks in MARKS if marks.occur_in(text))
    return next(found, THINK)


def find_thought(text: str) -> tuple[bool, bool]:
    """Return whether a text begins within a thought, and whether it ends within one."""
    begins, ends = ([m.start() for m in marks.finditer(text)] for marks in (_BEGINS, _ENDS))
    begins_within = bool(ends) and (not begins or ends[0] < begins[0])
    return begins_within, bool(begins) and (not ends or ends[-1] < begins[-1])


def parse_marks(option: str, name: str = "--thinking-marks") -> ThinkingMarks:
    """Return the marks that an option names, or gives as "OPEN CLOSE", or raise UserError."""
    words = option.split()
    if len(words) == 1:
        if known := _NAMES.get(words[0].lower()):
            return known
        raise unknown(f"name of {name}", words[0], [marks.name for marks in MARKS])
    if len(words) != 2 or words[0] == words[1] or {"<answer>", STOP} & set(words):
        raise UserError(
            f"{name} must be a name or two different marks, 'OPEN CLOSE', got {option!r}"
        )
    begin, end = words
    own = ThinkingMarks("", begin, end)
    return next((m for m in MARKS if (m.begin, m.end, m.answer) == (begin, end, "")), own)
