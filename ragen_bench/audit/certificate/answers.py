"""Functions that answer a question from evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragen_bench.audit.certificate.evidence import Evidence, Package
from ragen_bench.audit.certificate.panel import LEVEL
from ragen_envs.registration import is_registered

Status = Literal["passed", "failed", "exempt", "not asked"]


@dataclass(frozen=True)
class Answer:
    """Answer to one question.

    The status is "passed" or "failed" by evidence, "exempt" if the question does not apply or
    its evidence is missing, "not asked" if somebody else has to answer it. The reason is "" for
    "passed".
    """

    status: Status
    evidence: str = ""
    reason: str = ""


AnswerFunction: TypeAlias = Callable[[Evidence], Answer]


def exempt(reason: str) -> AnswerFunction:
    """Answer a question that does not apply."""
    return lambda _: Answer("exempt", reason=reason)


def not_asked(reason: str) -> AnswerFunction:
    """Answer a question that somebody else has to answer."""
    return lambda _: Answer("not asked", reason=reason)


def judge(holds: bool, evidence: str, reason: str) -> Answer:
    """Answer "passed", or "failed" with its reason."""
    return Answer("passed", evidence) if holds else Answer("failed", evidence, reason)


def run_kit(*checks: str) -> AnswerFunction:
    """Answer by the worst outcome of checks of the testing kit."""

    def answer(evidence: Evidence) -> Answer:
        outcomes = [evidence.outcome(check) for check in checks]
        seen = f"kit: {', '.join(checks)}"
        statuses: dict[str, Status] = {"failed": "failed", "skipped": "exempt"}
        for outcome_status, status in statuses.items():
            for outcome in outcomes:
                if outcome.status == outcome_status:
                    message = outcome.message.partition("\n")[0]
                    return Answer(status, seen, f"{outcome.name}: {message}")
        return Answer("passed", seen)

    return answer


NO_PACKAGE = exempt("no package of it is known here; `ragen-envs package` writes one")


def for_suite(function: AnswerFunction, otherwise: AnswerFunction) -> AnswerFunction:
    """Answer for registered environments, and in the other way for others."""
    return lambda evidence: (function if is_registered(evidence.env) else otherwise)(evidence)


def with_openenv(function: AnswerFunction) -> AnswerFunction:
    """Answer for registered environments, if OpenEnv is installed."""
    missing = Answer("not asked", reason="needs OpenEnv: pip install 'ragen-bench[openenv]'")
    return for_suite(
        lambda evidence: function(evidence) if evidence.has_openenv else missing, NO_PACKAGE
    )


def of_package(check: Callable[[Package], Answer]) -> AnswerFunction:
    """Answer from the folder of an image."""
    return with_openenv(lambda evidence: check(evidence.package))


def combine(first: AnswerFunction, second: AnswerFunction) -> AnswerFunction:
    """Answer by the worse of two answers, with the evidence of both."""

    def answer(evidence: Evidence) -> Answer:
        one, other = first(evidence), second(evidence)
        order: Sequence[Status] = ("passed", "not asked", "exempt", "failed")
        worse = max(one, other, key=lambda each: order.index(each.status))
        seen = "; ".join(each.evidence for each in (one, other) if each.evidence)
        return Answer(worse.status, seen, worse.reason)

    return answer


def stays_at_floor(*players: str) -> AnswerFunction:
    """Answer whether players score at most the random baseline; by default all that do not act."""

    def answer(evidence: Evidence) -> Answer:
        panel = evidence.panel
        rows = [panel.row(name) for name in players] or list(panel.idle)
        above = [row.player for row in rows if row.is_above_floor]
        failing = [row for row in rows if row.errors]
        scores = ", ".join(f"{row.player} {row.score:.4f}" for row in rows)
        seen = f"{scores}; floor {panel.floor.score:.4f}; {panel.episodes:,} episodes each"
        if failing:
            first = failing[0]
            episodes = f"in {first.errors:,} episodes of {first.player}"
            return Answer("failed", seen, f"the environment raised {episodes}: {first.error}")
        return judge(
            not above,
            seen,
            f"above the floor without playing (level {LEVEL:g}): {', '.join(above)}",
        )

    return answer
