"""Functions that answer a question from evidence: status, evidence and reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragen_bench.audit.certificate.evidence import Evidence
from ragen_bench.audit.certificate.openenv import Package
from ragen_bench.audit.certificate.panel import LEVEL

Status = Literal["passed", "failed", "exempt", "not asked"]
MARGIN = 0.1
"""Minimum difference between floor and best score in OpenEnv's policy."""
NO_PACKAGE = "no package of it is known here; `ragen-envs package` writes one"


@dataclass(frozen=True)
class Answer:
    """Answer to one question.

    Attributes:
        status: "passed" or "failed" by evidence, "exempt" if the question does not apply or its
            evidence is missing, "not asked" if somebody else has to answer it.
        evidence: Evidence with its values; "" without any.
        reason: Reason for any other status than "passed", else "".
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
        statuses: tuple[tuple[str, Status], ...] = (("failed", "failed"), ("skipped", "exempt"))
        for outcome_status, status in statuses:
            for outcome in outcomes:
                if outcome.status == outcome_status:
                    message = outcome.message.partition("\n")[0]
                    return Answer(status, seen, f"{outcome.name}: {message}")
        return Answer("passed", seen)

    return answer


def for_suite(function: AnswerFunction, otherwise: str) -> AnswerFunction:
    """Answer for registered environments; others are exempt for the given reason."""
    return lambda evidence: (
        function(evidence) if evidence.is_registered else Answer("exempt", reason=otherwise)
    )


def with_openenv(function: AnswerFunction) -> AnswerFunction:
    """Answer for registered environments, if OpenEnv is installed."""

    def answer(evidence: Evidence) -> Answer:
        if not evidence.has_openenv:
            return Answer("not asked", reason="needs OpenEnv: pip install 'ragen-bench[openenv]'")
        return function(evidence)

    return for_suite(answer, NO_PACKAGE)


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
    """Answer whether players score at most the random baseline.

    Without names, these are all players that take no actions.
    """

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


def has_floor_gap(evidence: Evidence) -> Answer:
    """Answer whether empty responses score well below the oracle."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _no_ceiling()
    nothing = panel.row("null").score
    best = _best(evidence, panel.ceiling)
    seen = f"doing nothing {nothing:.4f}, {best}; margin {MARGIN:g}"
    return judge(panel.ceiling - nothing >= MARGIN, seen, "the two are closer than the margin")


def has_mindless_gap(evidence: Evidence) -> Answer:
    """Answer whether all scripted players score well below the oracle."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _no_ceiling()
    best = max(panel.rows, key=lambda row: row.score)
    above = [row.player for row in panel.rows if row.is_above_floor] or ["nobody"]
    seen = (
        f"best scripted player {best.player} {best.score:.4f}, {_best(evidence, panel.ceiling)}, "
        f"floor {panel.floor.score:.4f}; above the floor: {', '.join(above)}"
    )
    reason = f"a player that understands nothing comes within {MARGIN:g} of the best score"
    return judge(panel.ceiling - best.score >= MARGIN, seen, reason)


def is_reward_reachable(evidence: Evidence) -> Answer:
    """Answer whether the random player ever scores."""
    panel = evidence.panel
    seen = f"the random player scored in {panel.scoring_episodes:,} of {panel.episodes:,} episodes"
    return judge(
        panel.scoring_episodes > 0, seen, "no random episode scored, so learning has no start"
    )


def reaches_best(function: AnswerFunction) -> AnswerFunction:
    """Exempt a passed answer about the best score if the oracle is a reference player."""

    def answer(evidence: Evidence) -> Answer:
        found = function(evidence)
        if found.status != "passed" or not (why := evidence.reference):
            return found
        reason = f"the oracle is a reference player, and the best score is not known: {why}"
        seen = f"a reference player scores what is stated; {found.evidence}"
        return Answer("exempt", seen, reason)

    return answer


def _best(evidence: Evidence, ceiling: float) -> str:
    player = "reference player" if evidence.reference else "best player"
    return f"{player} {ceiling:.4f}"


def _no_ceiling() -> Answer:
    return Answer("exempt", reason="no best score is known; give a Subject with oracle and ceiling")
