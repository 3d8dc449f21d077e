"""Checks before a long run: the environments, the model, its response format and its limits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragen_bench.audit.environment import describe_ceiling_error, play_oracle
from ragen_bench.audit.openings import (
    OpeningRequest,
    build_opponent_request,
    build_player_request,
    build_requests,
)
from ragen_bench.audit.server import Finding, Status, check_server
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.episodes.form_rate import FormRate
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Model, RequestFailure, Sampling, find_provider, notes_of
from ragen_bench.models.base import Served, ask_each
from ragen_bench.models.reasoning import without_reasoning
from ragen_bench.opponents.opponent import ModelPair, load
from ragen_bench.suites import make_env, plays
from ragen_bench.visible import format_duration

_ORACLE_INSTANCES = 16
_FEW_TOKENS = 4
_LEAST = 4
"""Failed requests after which a server is believed to answer none."""
_EXCERPT_LENGTH = 60
_Result = tuple[Status, str]


def examine(
    evaluation: Evaluation, questions: int, model: Model | None = None
) -> Iterator[Finding]:
    """Check an evaluation with some first turns; yield findings up to the first FAIL."""
    try:
        for finding in _findings(evaluation, questions, model):
            yield finding
            if finding.status == "FAIL":
                return
    except UserError as error:
        yield Finding("model", "FAIL", str(error))


def _findings(evaluation: Evaluation, questions: int, model: Model | None) -> Iterator[Finding]:
    opponent = evaluation.opponent
    if model is None:
        yield Finding("oracle", *_check_oracle(evaluation))
        start = time.perf_counter()
        model = load(
            evaluation.model,
            evaluation.server,
            opponent,
            evaluation.random_player,
            evaluation.isolation,
            evaluation.thinking_marks,
        )
        yield Finding("loads", "ok", f"in {time.perf_counter() - start:.1f} s")
    requests = build_requests(build_player_request, evaluation, questions)
    if not (isinstance(model, ModelPair) and opponent):
        yield from _side_findings(_Side(model, evaluation, requests))
        return
    yield from _side_findings(_Side(model.player, evaluation, requests))
    yield Finding("opponent", "ok", f"{opponent.model}, asked the oracle's first questions")
    alone = replace(
        evaluation, model=opponent.model, response_format=opponent.response_format, opponent=None
    )
    requests = build_requests(build_opponent_request, evaluation, questions)
    yield from _side_findings(_Side(model.opponent, alone, requests, "--opponent-format"))


@dataclass(frozen=True)
class _Side:
    """The player or the opponent; `option` sets the response format on the command line."""

    model: Model
    evaluation: Evaluation
    openings: list[OpeningRequest]
    option: str = "--format"


def _side_findings(side: _Side) -> Iterator[Finding]:
    model, evaluation = side.model, side.evaluation
    yield Finding("is there", "ok", model.probe())
    start = time.perf_counter()
    outcomes = _ask(side)
    seconds = time.perf_counter() - start
    notes = notes_of(model)
    for note in notes:
        yield Finding("note", "warn", note)
    failures = [outcome.reason for outcome in outcomes if isinstance(outcome, RequestFailure)]
    both = zip(side.openings, outcomes, strict=True)
    pairs = [(opening, each) for opening, each in both if isinstance(each, Completion)]
    completions = [completion for _, completion in pairs]
    side = replace(side, openings=[opening for opening, _ in pairs])
    yield Finding("answers", *_check_answers(completions, failures, side.option))
    yield Finding("form", *_check_format(side, completions))
    yield Finding("stops", *_check_stops(completions, evaluation.sampling))
    if isinstance(model, Served) and side.option == "--format":
        yield from check_server(model, evaluation, pairs)
        for note in notes_of(model):
            if note not in notes:
                yield Finding("note", "warn", note)
    yield Finding("limit", *_check_limit(side, completions))
    yield Finding("repeats", *_check_repeats(side, completions))
    yield Finding("pace", *_estimate_pace(evaluation, completions, seconds))


def _check_oracle(evaluation: Evaluation) -> _Result:
    """Play the oracle on the first instances of each environment."""
    with_oracle = [env for env in evaluation.instances if plays("oracle", env)]
    if not with_oracle:
        return "ok", "not checked: no environment has one"
    for env in with_oracle:
        count = evaluation.instances[env]
        instances = list(play_oracle(env, evaluation.split, min(count, _ORACLE_INSTANCES)))
        unsolved = [instance for instance in instances if not instance.solved]
        if unsolved:
            return "FAIL", f"{env} {unsolved[0]} is not solved"
        if problem := describe_ceiling_error(instances):
            return "FAIL", f"{env}: {problem}"
    return (
        "ok",
        f"scores what it is expected to in {_number(len(with_oracle), 'environment')}, up to "
        f"{_ORACLE_INSTANCES} {evaluation.split} instances each",
    )


def _ask(side: _Side) -> list[Completion | RequestFailure]:
    """Return the responses without reasoning, as an environment receives them, and failures.

    A UserError says that a server answers nothing.
    """
    model, evaluation = side.model, side.evaluation
    requests = [opening.request for opening in side.openings]
    outcomes: dict[str, Completion | RequestFailure] = {}
    for request, outcome in ask_each(model, requests, evaluation.sampling):
        outcomes[request.key] = (
            outcome
            if isinstance(outcome, RequestFailure)
            else without_reasoning(outcome, evaluation.response_format)
        )
        failed = [each for each in outcomes.values() if isinstance(each, RequestFailure)]
        if len(failed) == len(outcomes) >= min(max(model.slots, _LEAST), len(requests)):
            raise UserError(failed[0].reason, exit_code=1)
    return [outcomes[request.key] for request in requests]


def _check_answers(
    completions: Sequence[Completion], failures: Sequence[str], option: str
) -> _Result:
    if any(completion.finish == "context" for completion in completions):
        return "FAIL", "a first request does not fit into its context"
    empty = sum(not completion.text.strip() for completion in completions)
    counts = f"{len(completions) - empty} of {len(completions) + len(failures)} questions"
    if failures:
        return "warn", f"{counts}; {len(failures)} given up, such as: {failures[0]}"
    if filtered := sum(completion.finish == "filtered" for completion in completions):
        return "warn", f"{counts}; {filtered} stopped by the provider's filter, or refused"
    if empty == len(completions) and any(completion.reasoning for completion in completions):
        return (
            "FAIL",
            f"{counts}: its reasoning uses all tokens; add {option} answer and raise --max-tokens",
        )
    if empty == len(completions):
        return "FAIL", f"{counts}: all responses are empty; check its chat template"
    return ("warn" if empty else "ok", counts)


def _check_format(side: _Side, completions: Sequence[Completion]) -> _Result:
    """Count the responses with a valid format and with valid actions."""
    if side.evaluation.response_format == "think" and any(c.reasoning for c in completions):
        return "FAIL", f"its server reports the reasoning separately: add {side.option} answer"
    pairs = zip(side.openings, completions, strict=True)
    read = [opening.read(completion.text) for opening, completion in pairs]
    formed = sum(format_valid for format_valid, _ in read)
    valid = sum(actions_valid for _, actions_valid in read)
    counts = f"{formed} of {len(read)} answers have it, {valid} name known actions only"
    if formed == len(read) == valid:
        return "ok", counts
    rate = FormRate(side.evaluation, side.option, in_doctor=True)
    for completion, (format_valid, _) in zip(completions, read, strict=True):
        rate.add(completion, format_valid)
    if causes := rate.describe():
        counts += f"; {causes}"
    broken = next(i for i, (_, actions_valid) in enumerate(read) if not actions_valid)
    text = completions[broken].text
    excerpt = text if len(text) <= _EXCERPT_LENGTH else text[:_EXCERPT_LENGTH] + "..."
    status: Status = "warn" if 2 * valid < len(read) else "ok"
    return status, f"{counts}; an invalid one: {excerpt!r}"


def _check_stops(completions: Sequence[Completion], sampling: Sampling) -> _Result:
    cut = sum(completion.finish == "length" for completion in completions)
    counts = f"{len(completions) - cut} of {len(completions)} answers ended before the limit"
    if 2 * cut <= len(completions):
        return "ok", counts
    return "warn", f"{counts} of {sampling.max_tokens}; raise --max-tokens?"


def _check_limit(side: _Side, completions: Sequence[Completion]) -> _Result:
    """Compare token counts with the limit, and with a very low limit."""
    sampling = side.evaluation.sampling
    if find_provider(side.evaluation.model).user_code:
        return "ok", "not checked: agents do not receive it"
    if not any(c.completion_tokens and not c.tokens_estimated for c in completions):
        return "ok", "not checked: the model reports no token counts"
    few = replace(sampling, max_tokens=_FEW_TOKENS, constrain=False)
    most = max(c.completion_tokens for c in completions if not c.tokens_estimated)
    [(_, outcome)] = ask_each(side.model, [side.openings[0].request], few)
    if isinstance(outcome, RequestFailure):
        return "warn", f"an answer of {_FEW_TOKENS} tokens is refused: {outcome.reason}"
    short = outcome.completion_tokens
    for tokens, allowed in ((most, sampling.max_tokens), (short, _FEW_TOKENS)):
        if tokens > allowed:
            return "FAIL", f"a response has {tokens} tokens, {allowed} are allowed"
    return "ok", f"at most {most} tokens of {sampling.max_tokens} allowed"


def _check_repeats(side: _Side, completions: Sequence[Completion]) -> _Result:
    again = [outcome.text if isinstance(outcome, Completion) else None for outcome in _ask(side)]
    differ = sum(a.text != text for a, text in zip(completions, again, strict=True))
    if not differ:
        return "ok", "asked again, it answers the same"
    hint = "; with --concurrency 1?" if side.model.slots > 1 == side.model.group_size else ""
    return (
        "warn",
        f"asked again, {differ} of {len(completions)} answers differ: runs will not reproduce to "
        f"the byte{hint}",
    )


def _estimate_pace(
    evaluation: Evaluation, completions: Sequence[Completion], seconds: float
) -> _Result:
    seconds_each = seconds / len(completions)
    episodes = sum(evaluation.instances.values()) * evaluation.samples
    turns = sum(
        count * make_env(env, evaluation.split, "plain").budget.max_turns
        for env, count in evaluation.instances.items()
    )
    least, most = seconds_each * episodes, seconds_each * turns * evaluation.samples
    tokens = sum(completion.completion_tokens for completion in completions)
    written = f" of {tokens / len(completions):,.0f} tokens" if tokens else ""
    return (
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
