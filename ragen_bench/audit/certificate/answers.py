"""How a question is answered: from evidence to a status, with a figure and a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragen_bench.audit.certificate.evidence import Evidence
from ragen_bench.audit.certificate.panel import LEVEL, Row
from ragen_bench.audit.certificate.served import Package

Status = Literal["passed", "failed", "exempt", "not asked"]
MARGIN = 0.1
"""The least distance from the floor to the best score that OpenEnv's policy lets an author state.
"""
NO_PACKAGE = "no package of it is known here; `ragen-envs package` writes one"


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        status: "passed" or "failed" by evidence, "exempt" where the question does not apply or
            its evidence is missing, "not asked" where it is another's to answer.
        evidence: what was looked at, with its figure; "" without any.
        reason: why it failed, is exempt or not asked; "" if it passed.
    """

    status: Status
    evidence: str = ""
    reason: str = ""


Answering: TypeAlias = Callable[[Evidence], Answer]


def exempt(reason: str) -> Answering:
    """Return the answer of a question that does not apply."""
    return lambda _: Answer("exempt", reason=reason)


def not_asked(reason: str) -> Answering:
    """Return the answer of a question that is another's to answer."""
    return lambda _: Answer("not asked", reason=reason)


def judged(holds: bool, evidence: str, reason: str) -> Answer:
    """Return "passed", or "failed" with its reason."""
    return Answer("passed", evidence) if holds else Answer("failed", evidence, reason)


def kit(*checks: str) -> Answering:
    """Return what checks of the kit say together: a failure before a skip before a pass."""

    def answer(evidence: Evidence) -> Answer:
        outcomes = [evidence.outcome(check) for check in checks]
        named = f"kit: {', '.join(checks)}"
        statuses: tuple[tuple[str, Status], ...] = (("failed", "failed"), ("skipped", "exempt"))
        for wanted, status in statuses:
            for outcome in outcomes:
                if outcome.status == wanted:
                    seen = outcome.message.partition("\n")[0]
                    return Answer(status, named, f"{outcome.name}: {seen}")
        return Answer("passed", named)

    return answer


def own(answering: Answering, otherwise: str) -> Answering:
    """Return an answer that only this suite's environments have."""
    return lambda evidence: (
        answering(evidence) if evidence.is_registered else Answer("exempt", reason=otherwise)
    )


def with_openenv(answering: Answering) -> Answering:
    """Return an answer of this suite's environments that needs OpenEnv."""

    def answer(evidence: Evidence) -> Answer:
        if not evidence.has_openenv:
            return Answer("not asked", reason="needs OpenEnv: pip install 'ragen-bench[openenv]'")
        return answering(evidence)

    return own(answer, NO_PACKAGE)


def packaged(look: Callable[[Package], Answer]) -> Answering:
    """Return an answer about the folder of an image."""
    return with_openenv(lambda evidence: look(evidence.package))


def both(first: Answering, second: Answering) -> Answering:
    """Return the worse of two answers with the evidence of both."""

    def answer(evidence: Evidence) -> Answer:
        one, other = first(evidence), second(evidence)
        order: Sequence[Status] = ("passed", "not asked", "exempt", "failed")
        worse = max(one, other, key=lambda each: order.index(each.status))
        seen = "; ".join(each.evidence for each in (one, other) if each.evidence)
        return Answer(worse.status, seen, worse.reason)

    return answer


def at_the_floor(*players: str) -> Answering:
    """Return whether those players score no more than the random player.

    Without names it is everybody who does not play.
    """

    def answer(evidence: Evidence) -> Answer:
        panel = evidence.panel
        rows = [panel.row(name) for name in players] or list(panel.idle)
        above = [row.player for row in rows if row.above]
        raised = [row for row in rows if row.raised]
        shown = ", ".join(f"{row.player} {row.score:.4f}" for row in rows)
        seen = f"{shown}; floor {panel.floor.score:.4f}; {panel.episodes:,} episodes each"
        if raised:
            return Answer("failed", seen, _raised(raised))
        return judged(
            not above,
            seen,
            f"above the floor without playing (level {LEVEL:g}): {', '.join(above)}",
        )

    return answer


def _raised(rows: Sequence[Row]) -> str:
    first = rows[0]
    return f"the environment raised in {first.raised:,} episodes of {first.player}: {first.error}"


def floor_gap(evidence: Evidence) -> Answer:
    """Return whether doing nothing stays well below the best player's score."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _no_ceiling()
    nothing = panel.row("null").score
    best = _best(evidence, panel.ceiling)
    seen = f"doing nothing {nothing:.4f}, {best}; margin {MARGIN:g}"
    return judged(panel.ceiling - nothing >= MARGIN, seen, "the two are closer than the margin")


def mindless_gap(evidence: Evidence) -> Answer:
    """Return whether the best scripted player stays well below the best player's score."""
    panel = evidence.panel
    if panel.ceiling is None:
        return _no_ceiling()
    best = max(panel.rows, key=lambda row: row.score)
    above = [row.player for row in panel.rows if row.above] or ["nobody"]
    seen = (
        f"best scripted player {best.player} {best.score:.4f}, {_best(evidence, panel.ceiling)}, "
        f"floor {panel.floor.score:.4f}; above the floor: {', '.join(above)}"
    )
    reason = f"a player that understands nothing comes within {MARGIN:g} of the best score"
    return judged(panel.ceiling - best.score >= MARGIN, seen, reason)


def reached(evidence: Evidence) -> Answer:
    """Return whether the random player ever scores."""
    panel = evidence.panel
    seen = f"the random player scored in {panel.reached:,} of {panel.episodes:,} episodes"
    return judged(panel.reached > 0, seen, "no random episode scored, so learning has no start")


def best_reached(answering: Answering) -> Answering:
    """Return an answer about the best score, which nobody knows where the oracle is a reference."""

    def answer(evidence: Evidence) -> Answer:
        found = answering(evidence)
        if found.status != "passed" or not (why := evidence.reference):
            return found
        reason = f"the oracle is a reference player, and the best score is not known: {why}"
        seen = f"a reference player scores what is stated; {found.evidence}"
        return Answer("exempt", seen, reason)

    return answer


def _best(evidence: Evidence, ceiling: float) -> str:
    """Return what the best player scores, or a reference player, which the best one beats."""
    called = "reference player" if evidence.reference else "best player"
    return f"{called} {ceiling:.4f}"


def _no_ceiling() -> Answer:
    return Answer("exempt", reason="no best score is known; give a Subject with oracle and ceiling")
