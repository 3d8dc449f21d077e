"""The rate of answers in form, and why the others are not: said while a run plays."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion
from ragen_bench.models.provider import Provider, find_provider
from ragen_bench.models.reasoning import suggest_marks
from ragen_bench.runs.schema import RunConfig, TurnRecord
from ragen_envs.core.protocol import AnswerFormat

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation

FormProblem = Literal["cut", "filtered", "empty", "marks", "calls", "missing", "broken"]
_SCRIPTED = ("random", "oracle")
"""Players whose answers have the form, or are those of the user's own function."""
_LEAST = 10
"""Answers before a rate is judged."""
_EXAMPLES = 100
"""Answers out of form that are kept, in which known marks are searched."""
_OPENS = {"think": "<answer>", "answer": "<answer>", "tools": "<tool_call>", "plain": ""}
_ELSE = {"think": "answer", "answer": "plain", "tools": "answer", "plain": "answer"}
"""The format to try where answers lack the form of another one."""
_MARKS = re.compile(
    r"[<\[◁|]{1,2}[/|]?(?:\w+[:_])?(?:think|thought|reason|channel|analysis|thinking)\w*[|▷>\]]{1,2}",
    re.IGNORECASE,
)
_FORMS_OWN = re.compile("</?think>")
_CALL = re.compile(
    r"""[<\[{(|]{1,2}[^<>\[\]{}\s]*(?:tool|function|action|invoke)[^<>\[\]{}\n]{0,40}[|>\]]"""
    r"""|"(?:arguments|parameters)"\s*:|to=functions""",
    re.IGNORECASE,
)
_PARSER = "start the server with its parser of calls (vLLM: --tool-call-parser)"


def find_form_problem(answer: str, finish: str, form: AnswerFormat) -> FormProblem:
    """Return why an answer is out of form: the most likely reason of several."""
    if finish in ("length", "filtered"):
        return "cut" if finish == "length" else "filtered"
    if not answer.strip():
        return "empty"
    if _find_mark(answer, form):
        return "marks"
    if _OPENS[form] and _OPENS[form] in answer:
        return "broken"
    return "calls" if form == "tools" and _CALL.search(answer) else "missing"


def _find_mark(answer: str, form: AnswerFormat) -> str:
    """Return the first mark of thoughts that the format does not know, or ""."""
    found = (match[0] for match in _MARKS.finditer(answer))
    return next((mark for mark in found if form == "tools" or not _FORMS_OWN.fullmatch(mark)), "")


class FormRate:
    """Counts answers and those out of form, whose reports say what to do about the others.

    `settings` are those of the run, or of the opponent's side of it, whose format `option` sets.
    With `in_doctor` the reader is running `doctor` already. With `states_form` the environments
    state their own format, which no option changes.
    """

    def __init__(
        self,
        settings: Evaluation | RunConfig,
        option: str = "--format",
        *,
        in_doctor: bool = False,
        states_form: bool = False,
    ) -> None:
        self._form, self._max_tokens = settings.response_format, settings.max_tokens
        self._is_scripted = settings.model in _SCRIPTED
        self._option, self._in_doctor = option, in_doctor
        self._provider: Provider | None = None
        with suppress(UserError):  # of a model that is not installed here
            self._provider = find_provider(settings.model)
        has_own = states_form or bool(self._provider and self._provider.response_format)
        self._other = "" if has_own else f"try {option} {_ELSE[self._form]}"
        self._texts: list[str] = []
        self._problems: Counter[FormProblem] = Counter()
        self.answers = 0
        self._reported = False

    def add(self, turn: TurnRecord | Completion, is_valid: bool | None) -> None:
        """Count an answer; None where a third-party environment does not report its form."""
        text = turn.text if isinstance(turn, Completion) else turn.answer
        self.answers += 1
        if is_valid is not False:
            return
        problem = find_form_problem(text, turn.finish, self._form)
        self._problems[problem] += 1
        if problem not in ("cut", "filtered", "empty") and len(self._texts) < _EXAMPLES:
            self._texts.append(text)

    @property
    def report(self) -> str:
        """The line on a low rate: of at least ten answers, less than half in form; else ""."""
        bad = self._problems.total()
        is_low = self.answers >= _LEAST and 2 * bad > self.answers and not self._is_scripted
        return self.describe() if is_low else ""

    def report_once(self) -> str:
        """Return the line on a low rate the first time that there is one, "" afterwards."""
        line = "" if self._reported else self.report
        self._reported = bool(self._reported or line)
        return line

    def describe(self) -> str:
        """Return the causes of answers out of form with what to do, or ""."""
        if not self._problems:
            return ""
        ordered = sorted(self._problems.items(), key=lambda item: (-item[1], item[0]))
        bad, words = self._problems.total(), self._words()
        advice = words[ordered[0][0]][1]
        if len(ordered) == 1:
            return f"{bad} of {self.answers} answers {words[ordered[0][0]][0]}; {advice}"
        parts = ", ".join(f"{count} {words[problem][0]}" for problem, count in ordered)
        return f"{bad} of {self.answers} answers are out of form: {parts}; {advice}"

    def _words(self) -> dict[FormProblem, tuple[str, str]]:
        """Return each problem in words, and what to do about it."""
        provider, opens = self._provider, _OPENS[self._form]
        is_code = bool(provider and provider.user_code)
        doctor = "" if self._in_doctor else "run doctor"
        marks_option = self._option.replace("format", "thinking-marks")
        # Agents of the user return what they like, without such an option.
        may_give = bool(provider and provider.marks)
        known = may_give and suggest_marks(self._texts, self._form)
        other = f"add {marks_option} {known}" if known else _choose(doctor, self._other)
        give = f"give them by {marks_option} 'OPEN CLOSE'" if may_give and not known else ""
        mark = next((mark for text in self._texts if (mark := _find_mark(text, self._form))), "")
        call = next((found[0] for text in self._texts if (found := _CALL.search(text))), "")
        parser = _PARSER if provider and provider.served else ""
        lacks = {"tools": "made no call of a function", "plain": "are not in the form of the game"}
        length = "" if is_code else "raise --max-tokens"
        source = "what the agent returns" if is_code else "the model's chat template"
        return {
            "cut": (
                f"were cut at {self._max_tokens} tokens",
                _choose(length, other if self._form == "think" else doctor),
            ),
            "filtered": (
                "were refused, or ended by the provider's filter",
                doctor or "read the provider's rules, or choose another model",
            ),
            "empty": (
                "were empty",
                " and ".join(filter(None, (doctor and f"{doctor},", f"check {source}"))),
            ),
            "marks": (
                f"had thoughts in marks that are not read here, such as {mark}",
                _choose(give, other),
            ),
            "calls": (
                f"wrote calls in a form that is not read here, such as {call}",
                _choose(parser, _choose(doctor, self._other)),
            ),
            "missing": (lacks.get(self._form, f"had no {opens}"), other),
            "broken": (f"had {opens} and not the whole form around it", other),
        }


def _choose(*advice: str) -> str:
    """Return pieces of advice, any of which may be empty."""
    return ", or ".join(filter(None, advice)) or "look at the answers with `ragen-bench view`"
