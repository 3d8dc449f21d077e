"""Checks before a long run: the environments, the model, its response format and its limits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ragen_bench.audit.opening_requests import (
    OpeningRequest,
    build_opponent_requests,
    build_player_requests,
)
from ragen_bench.audit.oracle import describe_ceiling_error, play_oracle
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
_EXCERPT_LENGTH = 60


class Finding(NamedTuple):
    """Result of one check.

    Attributes:
        name: Name of the check.
        status: "ok", "warn" for a problem that affects scores, "FAIL" for one that breaks a run.
        detail: Observation and, unless the status is "ok", what to do.
    """

    name: str
    status: Status
    detail: str


def examine(evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    """Check an evaluation before it runs; yield findings up to the first FAIL.

    Args:
        evaluation: The evaluation.
        questions: Number of first turns to sample responses for, at least 1.
    """
    yield from _until_failure(_findings(evaluation, questions))


def examine_model(model: Model, evaluation: Evaluation, questions: int) -> Iterator[Finding]:
    """Check an evaluation like `examine`, with a model that is already loaded."""
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
    yield _check_oracle(evaluation)
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
    requests = build_player_requests(evaluation, questions)
    if not (isinstance(model, ModelPair) and evaluation.opponent):
        yield from _side_findings(_Side(model, evaluation, requests))
        return
    yield from _side_findings(_Side(model.player, evaluation, requests))
    opponent = evaluation.opponent
    yield Finding("opponent", "ok", f"{opponent.model}, asked the oracle's first questions")
    alone = replace(
        evaluation, model=opponent.model, response_format=opponent.response_format, opponent=None
    )
    requests = build_opponent_requests(evaluation, questions)
    yield from _side_findings(_Side(model.opponent, alone, requests, "--opponent-format"))


@dataclass(frozen=True)
class _Side:
    """The player or the opponent.

    Attributes:
        model: The model.
        evaluation: Settings of sampling and the response format.
        openings: First requests.
        option: Command-line option that sets the response format.
    """

    model: Model
    evaluation: Evaluation
    openings: list[OpeningRequest]
    option: str = "--format"

    @property
    def requests(self) -> list[Request]:
        return [opening.request for opening in self.openings]


def _side_findings(side: _Side) -> Iterator[Finding]:
    model, evaluation, requests = side.model, side.evaluation, side.requests
    yield Finding("is there", "ok", model.probe())
    start = time.perf_counter()
    completions = _sample_responses(model, requests, evaluation)
    seconds = time.perf_counter() - start
    for note in notes_of(model):
        yield Finding("note", "warn", note)
    yield _check_answers(completions, side.option)
    yield _check_format(side, completions)
    yield _check_stops(completions, evaluation.sampling)
    yield _check_limit(side, completions)
    yield _check_repeats(model, requests, completions, evaluation)
    yield _estimate_pace(evaluation, completions, seconds)


def _check_oracle(evaluation: Evaluation) -> Finding:
    """Play the oracle on the first instances of each environment."""
    with_oracle = [env for env in evaluation.instances if plays("oracle", env)]
    if not with_oracle:
        return Finding("oracle", "ok", "not checked: no environment has one")
    for env in with_oracle:
        count = evaluation.instances[env]
        instances = list(play_oracle(env, evaluation.split, min(count, _ORACLE_INSTANCES)))
        unsolved = [instance for instance in instances if not instance.solved]
        if unsolved:
            return Finding("oracle", "FAIL", f"{env} {unsolved[0]} is not solved")
        if problem := describe_ceiling_error(instances):
            return Finding("oracle", "FAIL", f"{env}: {problem}")
    return Finding(
        "oracle",
        "ok",
        f"scores what it is expected to in {_number(len(with_oracle), 'environment')}, up to "
        f"{_ORACLE_INSTANCES} {evaluation.split} instances each",
    )


def _sample_responses(
    model: Model, requests: Sequence[Request], evaluation: Evaluation
) -> list[Completion]:
    """Return the responses without reasoning, as an environment receives them."""
    answers = ask_all(model, requests, evaluation.sampling)
    return [without_reasoning(answer, evaluation.response_format) for answer in answers]


def _check_answers(completions: Sequence[Completion], option: str) -> Finding:
    if any(completion.finish == "context" for completion in completions):
        return Finding("answers", "FAIL", "a first request does not fit into its context")
    empty = sum(not completion.text.strip() for completion in completions)
    counts = f"{len(completions) - empty} of {len(completions)} questions"
    if empty == len(completions) and any(completion.reasoning for completion in completions):
        return Finding(
            "answers",
            "FAIL",
            f"{counts}: its reasoning uses all tokens; add {option} answer and raise --max-tokens",
        )
    if empty == len(completions):
        return Finding(
            "answers", "FAIL", f"{counts}: all responses are empty; check its chat template"
        )
    return Finding("answers", "warn" if empty else "ok", counts)


def _check_format(side: _Side, completions: Sequence[Completion]) -> Finding:
    """Count the responses with a valid format and with valid actions."""
    if side.evaluation.response_format == "think" and any(c.reasoning for c in completions):
        return Finding(
            "form",
            "FAIL",
            f"its server reports the reasoning separately: add {side.option} answer",
        )
    pairs = zip(side.openings, completions, strict=True)
    read = [opening.read(completion.text) for opening, completion in pairs]
    formed = sum(format_valid for format_valid, _ in read)
    valid = sum(actions_valid for _, actions_valid in read)
    counts = f"{formed} of {len(read)} answers have it, {valid} name known actions only"
    if formed == len(read) == valid:
        return Finding("form", "ok", counts)
    broken = next(i for i, (_, actions_valid) in enumerate(read) if not actions_valid)
    detail = f"{counts}; an invalid one: {_excerpt(completions[broken].text)}"
    return Finding("form", "warn" if 2 * valid < len(read) else "ok", detail)


def _check_stops(completions: Sequence[Completion], sampling: Sampling) -> Finding:
    """Count the responses that the token limit cut."""
    cut = sum(completion.finish == "length" for completion in completions)
    counts = f"{len(completions) - cut} of {len(completions)} answers ended before the limit"
    if 2 * cut <= len(completions):
        return Finding("stops", "ok", counts)
    return Finding("stops", "warn", f"{counts} of {sampling.max_tokens}; raise --max-tokens?")


def _check_limit(side: _Side, completions: Sequence[Completion]) -> Finding:
    """Compare token counts with the limit, and with a very low limit."""
    sampling = side.evaluation.sampling
    if find_provider(side.evaluation.model).user_code:
        return Finding("limit", "ok", "not checked: agents do not receive it")
    if not any(completion.completion_tokens for completion in completions):
        return Finding("limit", "ok", "not checked: the model reports no token counts")
    few = replace(sampling, max_tokens=_FEW_TOKENS, constrain=False)
    most = max(completion.completion_tokens for completion in completions)
    short = ask_all(side.model, side.requests[:1], few)[0].completion_tokens
    for tokens, allowed in ((most, sampling.max_tokens), (short, _FEW_TOKENS)):
        if tokens > allowed:
            return Finding(
                "limit", "FAIL", f"a response has {tokens} tokens, {allowed} are allowed"
            )
    return Finding("limit", "ok", f"at most {most} tokens of {sampling.max_tokens} allowed")


def _check_repeats(
    model: Model,
    requests: Sequence[Request],
    completions: Sequence[Completion],
    evaluation: Evaluation,
) -> Finding:
    again = _sample_responses(model, requests, evaluation)
    differ = sum(a.text != b.text for a, b in zip(completions, again, strict=True))
    if not differ:
        return Finding("repeats", "ok", "asked again, it answers the same")
    return Finding(
        "repeats",
        "warn",
        f"asked again, {differ} of {len(completions)} answers differ: runs will not reproduce to "
        "the byte" + ("; with --concurrency 1?" if model.slots > 1 == model.group_size else ""),
    )


def _estimate_pace(
    evaluation: Evaluation, completions: Sequence[Completion], seconds: float
) -> Finding:
    """Estimate the duration of the run from these responses."""
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
    """Format two durations, with a shared unit once."""
    (low, unit), (high, other) = (
        format_duration(seconds).split(maxsplit=1) for seconds in (least, most)
    )
    if (low, unit) == (high, other):
        return f"{low} {unit}"
    return f"{low} to {high} {other}" if unit == other else f"{low} {unit} to {high} {other}"


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _EXCERPT_LENGTH else text[:_EXCERPT_LENGTH] + "...")
