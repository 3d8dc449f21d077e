"""The certificate: every answer with the command that gives it again, as canonical JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ragen_bench.audit.certificate.answers import Answer
from ragen_bench.audit.certificate.evidence import EPISODES, LEVELS, Evidence
from ragen_bench.audit.certificate.panel import FLOOR, LEVEL, Panel, Row
from ragen_bench.audit.certificate.players import PLAYERS
from ragen_bench.audit.certificate.questions import OPENENV, POLICY, QUESTIONS
from ragen_bench.runs.specification import spec_hash
from ragen_bench.third_party import register_environment

SCHEMA = 1
_DIGITS = 6
_OF_LEVELS = (
    *("static.task_distribution_pinning", "runtime.task_declaration_accuracy"),
    "semantic.oracle_max",
)
"""The questions whose evidence has train instances."""


@dataclass(frozen=True)
class Certificate:
    """The answers of one environment.

    Attributes:
        evidence: what they rest on.
        answers: by the questions' ids.
    """

    evidence: Evidence
    answers: dict[str, Answer]

    @property
    def failed(self) -> tuple[str, ...]:
        """The questions whose answer is "failed"."""
        return tuple(name for name, answer in self.answers.items() if answer.status == "failed")

    def content(self) -> dict[str, Any]:
        """Return it as a document of JSON, which depends on no clock and no machine."""
        evidence = self.evidence
        played = any(QUESTIONS[name].plays for name in self.answers)
        return {
            "schema": SCHEMA,
            "env": evidence.env,
            "specification": _specification(evidence.env),
            "versions": {name: _version(name) for name in ("ragen-bench", "gymnasium", "openenv")},
            "questions_of": {"openenv": OPENENV, "policy": POLICY, "count": len(QUESTIONS)},
            **({"panel": _panel(evidence.panel)} if played else {}),
            "answers": [
                {
                    "id": name,
                    "question": QUESTIONS[name].text,
                    "status": answer.status,
                    "evidence": answer.evidence,
                    "reason": answer.reason,
                    "again": _command(evidence, name),
                }
                for name, answer in self.answers.items()
            ],
        }

    def text(self) -> str:
        """Return the document as the file has it."""
        return json.dumps(self.content(), indent=1, ensure_ascii=False) + "\n"


def certify(evidence: Evidence, questions: Iterable[str] = QUESTIONS) -> Certificate:
    """Answer questions.

    Args:
        evidence: of the environment; what is needed of it is found now.
        questions: their ids.

    Raises:
        UserError: if the environment cannot be made, or its scores leave their range.
    """
    return Certificate(evidence, {name: QUESTIONS[name].answer(evidence) for name in questions})


def _command(evidence: Evidence, question: str) -> str:
    words = ["ragen-bench", "audit", evidence.env, "--question", question]
    if QUESTIONS[question].plays and evidence.episodes != EPISODES:
        words += ["--episodes", str(evidence.episodes)]
    if evidence.levels != LEVELS and question in _OF_LEVELS:
        words += ["--levels", str(evidence.levels)]
    return shlex.join(words)


def _specification(env: str) -> str | None:
    """Return the hash of what makes scores comparable, for what the harness finds by its id."""
    if env.startswith("python:"):
        return None
    if ":" in env or not env.startswith("ragen/"):
        register_environment(env)
    return spec_hash(env, "train", "think")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "episodes": panel.episodes,
        "level": LEVEL,
        "ceiling": None if panel.ceiling is None else round(panel.ceiling, _DIGITS),
        "rewards": [round(reward, _DIGITS) for reward in panel.rewards],
        "floor": {"player": FLOOR, **_scored(panel.floor)},
        "players": [
            {
                "player": row.player,
                "plays": PLAYERS[row.player].plays,
                **_scored(row),
                "higher": row.higher,
                "lower": row.lower,
                "chance": float(f"{row.chance:.3g}"),
                "above": row.above,
                "raised": row.raised,
            }
            for row in panel.rows
        ],
    }


def _scored(row: Row) -> dict[str, Any]:
    return {
        "score": round(row.score, _DIGITS),
        "interval": [round(bound, _DIGITS) for bound in row.interval],
    }
