"""Checks of a server beyond first turns: later turns, earlier thoughts, and long conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from ragen_bench.audit.openings import OpeningRequest, begin_second_turn
from ragen_bench.episodes.episode import Episode
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models.base import (
    Completion,
    Message,
    Request,
    RequestFailure,
    Served,
    ask_each,
    expect_answers,
)
from ragen_bench.models.chat_messages import functions_of
from ragen_envs.core.tool_calls import Call, as_text

if TYPE_CHECKING:
    from ragen_bench.models.api.base import ServerModel

Status = Literal["ok", "warn", "FAIL"]


class Finding(NamedTuple):
    """Result of one check: "warn" affects scores, "FAIL" breaks a run."""

    name: str
    status: Status
    detail: str


_LONGEST = 1 << 17
"""Tokens of a context that is tried out."""
_FEW_TOKENS = 4
_Pairs = Sequence[tuple[OpeningRequest, Completion]]


def check_server(served: Served, evaluation: Evaluation, pairs: _Pairs) -> Iterator[Finding]:
    """Yield findings on a server from its answers to first turns."""
    model = cast("ServerModel", served)
    expect_answers(model)
    yield Finding("turns", *_check_turns(model, evaluation, pairs))
    if evaluation.response_format == "think":
        yield Finding("thoughts", *_check_thoughts(model, evaluation))
    yield Finding("overflow", *_check_overflow(model, evaluation, pairs[0][0].request))


def _check_turns(model: ServerModel, evaluation: Evaluation, pairs: _Pairs) -> tuple[Status, str]:
    """Go on after the model's own answer, and after answers that are out of form."""
    tools = evaluation.response_format == "tools"
    formed = sorted(pairs, key=lambda pair: not all(pair[0].read(pair[1].text)))
    for opening, completion in formed:
        if episode := begin_second_turn(opening, completion):
            break
    else:
        return "ok", "not checked: the first answers end their episodes"
    called = tools and all(opening.read(completion.text))
    own = "its own call" if called else "its own answer"
    status: Status = "warn" if tools and not called else "ok"
    outcome = _ask(model, evaluation, replace(episode.request(), key=f"{opening.request.key}/1"))
    if isinstance(outcome, RequestFailure):
        return "FAIL", f"refused after {own}: {outcome.reason}"
    if called:
        own += model.describe_returned(completion)
    elif tools:
        own += " (it made no call, so none went back)"
    for text in dict.fromkeys((_break_off(episode) if tools else "", "")):
        episode.kept["player"] = [*episode.kept["player"][: episode.turns], None]
        episode.take(Completion(text))
        if episode.over:
            return status, f"goes on after {own}"
    outcome = _ask(model, evaluation, replace(episode.request(), key=f"{opening.request.key}/2"))
    others = "a broken call and an empty answer" if tools else "an empty answer"
    if isinstance(outcome, RequestFailure):
        return "warn", f"goes on after {own}; refused after {others}: {outcome.reason}"
    return status, f"goes on after {own}, and after {others}"


def _break_off(episode: Episode) -> str:
    """Return a response whose call ends in the middle of its arguments."""
    name = functions_of(episode.request().env)[0]["function"]["name"]
    return as_text([Call(name, '{"actions": ["Up", "Le')])


def _check_thoughts(model: ServerModel, evaluation: Evaluation) -> tuple[Status, str]:
    """Check whether the model reads its earlier thoughts, which some templates leave out."""
    if model.drops("thought", evaluation.sampling):
        return "warn", "its template leaves the thoughts of earlier turns out of a conversation"
    return "ok", "no earlier thought is seen to be left out of a conversation"


def _check_overflow(
    model: ServerModel, evaluation: Evaluation, request: Request
) -> tuple[Status, str]:
    """Check how the server refuses a conversation that is longer than the model's context."""
    context = model.context
    if context is None or context > _LONGEST:
        known = f"of {context} tokens is long" if context else "is not known"
        return "ok", f"not checked: the model's context {known}"
    *before, last = request.messages
    # A word has at least one token.
    longer: Message = {**last, "content": last["content"] + " a" * context}
    asked = replace(request, messages=[*before, longer], key=f"{request.key}/overflow", state={})
    outcome = _ask(model, evaluation, asked, _FEW_TOKENS)
    beyond = f"a conversation of more than {context} tokens"
    if isinstance(outcome, RequestFailure):
        return "warn", f"{beyond} is not known as one, so its episode is given up: {outcome.reason}"
    if outcome.finish == "context":
        return "ok", f"{beyond} is known as one, and ends its episode"
    return "warn", f"{beyond} is answered, so the server cuts it: give it one that no episode fills"


def _ask(
    model: ServerModel, evaluation: Evaluation, request: Request, max_tokens: int | None = None
) -> Completion | RequestFailure:
    sampling = evaluation.sampling
    if max_tokens is not None:
        sampling = replace(sampling, max_tokens=max_tokens, constrain=False)
    [(_, outcome)] = ask_each(model, [request], sampling)
    return outcome
