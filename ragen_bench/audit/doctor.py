"""Findings before a long run: on the environments, the model, its form and its limits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ragen_bench.audit.first_questions import Question, first_replies, first_turns
from ragen_bench.audit.oracle import ceiling_problem, play_oracle
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.models import (
    Completion,
    Model,
    Request,
    Sampling,
    ask_all,
    find_provider,
    notes_of,
)
from ragen_bench.models.reasoning import without_reasoning
from ragen_bench.opponents.opponent import load
from ragen_bench.opponents.pair import ModelPair
from ragen_bench.suites import make_env, plays
from ragen_bench.visible import format_duration

Status = Literal["ok", "warn", "FAIL"]
_ORACLE_INSTANCES = 16
_FEW_TOKENS = 4
_SHOWN = 60


class Finding(NamedTuple):
    """The result of one look.

    Attributes:
        name: what was looked at.
        status: "ok", "warn" for what spoils scores, "FAIL" for what breaks a run.
        detail: what was seen and, if it is not ok, what to do.
    """

    name: str
    status: Status
    detail: str


def examine(evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    """Look at what an evaluation would use; findings come one by one and end at the first FAIL.

    Args:
        evaluation: what would be run.
        questions: first turns that the model is asked to answer, at least one.
    """
    yield from _until_failure(_findings(evaluation, questions))


def examine_model(model: Model, evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    """Look at a model that is loaded already, and otherwise at the same as `examine`."""
    yield from _until_failure(_model_findings(model, evaluation, questions))


def _until_failure(findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        for finding in findings:
            yield finding
            if finding.status == "FAIL":
                return
    except UserError as error:
        yield Finding("model", "FAIL", str(error))


def _findings(evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    yield _oracle(evaluation)
    start = time.perf_counter()
    model = load(
        evaluation.model,
        evaluation.server,
        evaluation.opponent,
        evaluation.random_player,
        evaluation.isolation,
    )
    yield Finding("loads", "ok", f"in {time.perf_counter() - start:.1f} s")
    yield from _model_findings(model, evaluation, questions)


def _model_findings(model: Model, evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    first = first_turns(evaluation, questions)
    if not (isinstance(model, ModelPair) and evaluation.opponent):
        yield from _side_findings(_Side(model, evaluation, first))
        return
    yield from _side_findings(_Side(model.player, evaluation, first))
    opponent = evaluation.opponent
    yield Finding("opponent", "ok", f"{opponent.model}, asked the oracle's first questions")
    alone = replace(
        evaluation, model=opponent.model, response_format=opponent.response_format, opponent=None
    )
    replies = first_replies(evaluation, questions)
    yield from _side_findings(_Side(model.opponent, alone, replies, "--opponent-format"))


@dataclass(frozen=True)
class _Side:
    """One model that is looked at.

    Attributes:
        model: the model.
        evaluation: how it is sampled, and in what form it answers.
        questions: that it is asked.
        option: which sets the form of its answers.
    """

    model: Model
    evaluation: Evaluation
    questions: list[Question]
    option: str = "--format"

    @property
    def requests(self) -> list[Request]:
        return [question.request for question in self.questions]


def _side_findings(side: _Side) -> Iterator[Finding]:
    model, evaluation, requests = side.model, side.evaluation, side.requests
    yield Finding("is there", "ok", model.probe())
    start = time.perf_counter()
    completions = _answers_to(model, requests, evaluation)
    seconds = time.perf_counter() - start
    for note in notes_of(model):
        yield Finding("note", "warn", note)
    yield _answers(completions, side.option)
    yield _form(side, completions)
    yield _stops(completions, evaluation.sampling)
    yield _limit(side, completions)
    yield _repeats(model, requests, completions, evaluation)
    yield _pace(evaluation, completions, seconds)


def _oracle(evaluation: Evaluation) -> Finding:
    """Play the oracle on each environment's first instances of the split."""
    with_oracle = [env for env in evaluation.instances if plays("oracle", env)]
    if not with_oracle:
        return Finding("oracle", "ok", "not looked at: no environment has one")
    for env in with_oracle:
        count = evaluation.instances[env]
        instances = list(play_oracle(env, evaluation.split, min(count, _ORACLE_INSTANCES)))
        unsolved = [instance for instance in instances if not instance.solved]
        if unsolved:
            return Finding("oracle", "FAIL", f"{env} {unsolved[0]} is not solved")
        if problem := ceiling_problem(instances):
            return Finding("oracle", "FAIL", f"{env}: {problem}")
    return Finding(
        "oracle",
        "ok",
        f"scores what it is expected to in {_number(len(with_oracle), 'environment')}, up to "
        f"{_ORACLE_INSTANCES} {evaluation.split} instances each",
    )


def _answers_to(
    model: Model, requests: Sequence[Request], evaluation: Evaluation
) -> list[Completion]:
    """Return the answers as an environment gets them."""
    answers = ask_all(model, requests, evaluation.sampling)
    return [without_reasoning(answer, evaluation.response_format) for answer in answers]


def _answers(completions: Sequence[Completion], option: str) -> Finding:
    if any(completion.finish == "context" for completion in completions):
        return Finding("answers", "FAIL", "a first question does not fit into its context")
    empty = sum(not completion.text.strip() for completion in completions)
    counts = f"{len(completions) - empty} of {len(completions)} questions"
    if empty == len(completions) and any(completion.reasoning for completion in completions):
        return Finding(
            "answers",
            "FAIL",
            f"{counts}: it reasons by itself and comes to no answer; add {option} answer and raise "
            "--max-tokens",
        )
    if empty == len(completions):
        return Finding(
            "answers", "FAIL", f"{counts}: it says nothing; does it have a chat template?"
        )
    return Finding("answers", "warn" if empty else "ok", counts)


def _form(side: _Side, completions: Sequence[Completion]) -> Finding:
    """Count the answers that have the form, and those whose actions are all known."""
    if side.evaluation.response_format == "think" and any(c.reasoning for c in completions):
        return Finding(
            "form",
            "FAIL",
            "it reasons by itself, and its server reports the thoughts apart: add "
            f"{side.option} answer",
        )
    pairs = zip(side.questions, completions, strict=True)
    read = [question.read(completion.text) for question, completion in pairs]
    formed = sum(format_valid for format_valid, _ in read)
    valid = sum(known for _, known in read)
    counts = f"{formed} of {len(read)} answers have it, {valid} name known actions only"
    if formed == len(read) == valid:
        return Finding("form", "ok", counts)
    broken = next(i for i, (_, known) in enumerate(read) if not known)
    detail = f"{counts}; one that does not: {_shown(completions[broken].text)}"
    return Finding("form", "warn" if 2 * valid < len(read) else "ok", detail)


def _stops(completions: Sequence[Completion], sampling: Sampling) -> Finding:
    """Count the answers that the token limit cut."""
    cut = sum(completion.finish == "length" for completion in completions)
    counts = f"{len(completions) - cut} of {len(completions)} answers ended before the limit"
    if 2 * cut <= len(completions):
        return Finding("stops", "ok", counts)
    return Finding("stops", "warn", f"{counts} of {sampling.max_tokens}; raise --max-tokens?")


def _limit(side: _Side, completions: Sequence[Completion]) -> Finding:
    """Compare token counts with the limit, and with a very low one."""
    sampling = side.evaluation.sampling
    if find_provider(side.evaluation.model).user_code:
        return Finding("limit", "ok", "not looked at: an agent of one's own is not told it")
    if not any(completion.completion_tokens for completion in completions):
        return Finding("limit", "ok", "not looked at: it counts no tokens")
    few = replace(sampling, max_tokens=_FEW_TOKENS, constrain=False)
    most = max(completion.completion_tokens for completion in completions)
    short = ask_all(side.model, side.requests[:1], few)[0].completion_tokens
    for tokens, allowed in ((most, sampling.max_tokens), (short, _FEW_TOKENS)):
        if tokens > allowed:
            return Finding("limit", "FAIL", f"an answer took {tokens} tokens of {allowed} allowed")
    return Finding("limit", "ok", f"at most {most} tokens of {sampling.max_tokens} allowed")


def _repeats(
    model: Model,
    requests: Sequence[Request],
    completions: Sequence[Completion],
    evaluation: Evaluation,
) -> Finding:
    again = _answers_to(model, requests, evaluation)
    differ = sum(a.text != b.text for a, b in zip(completions, again, strict=True))
    if not differ:
        return Finding("repeats", "ok", "asked again, it answers the same")
    return Finding(
        "repeats",
        "warn",
        f"asked again, {differ} of {len(completions)} answers differ: runs will not reproduce to "
        "the byte" + ("; with --concurrency 1?" if model.slots > 1 == model.group_size else ""),
    )


def _pace(evaluation: Evaluation, completions: Sequence[Completion], seconds: float) -> Finding:
    """Say how long the run may take at the pace of these answers."""
    seconds_each = seconds / len(completions)
    episodes = sum(evaluation.instances.values()) * evaluation.samples
    turns = sum(
        count * make_env(env, evaluation.split, "plain").budget.max_turns
        for env, count in evaluation.instances.items()
    )
    least, most = seconds_each * episodes, seconds_each * turns * evaluation.samples
    tokens = sum(completion.completion_tokens for completion in completions)
    written = f" of {tokens / len(completions):,.0f} tokens" if tokens else ""
    return Finding(
        "pace",
        "ok",
        f"an answer{written} takes {format_duration(seconds_each)}; {_number(episodes, 'episode')} "
        f"{'takes' if episodes == 1 else 'take'} {_range(least, most)}",
    )


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _range(least: float, most: float) -> str:
    """Return two durations in words, their unit once where it is the same."""
    (low, unit), (high, other) = (
        format_duration(seconds).split(maxsplit=1) for seconds in (least, most)
    )
    if (low, unit) == (high, other):
        return f"{low} {unit}"
    return f"{low} to {high} {other}" if unit == other else f"{low} {unit} to {high} {other}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
