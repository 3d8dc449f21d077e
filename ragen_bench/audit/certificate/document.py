"""The certificate as canonical JSON: each answer with the command that reproduces it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from ragen_bench.audit.certificate.answers import Answer
from ragen_bench.audit.certificate.evidence import EPISODES, LEVELS, Evidence
from ragen_bench.audit.certificate.panel import FLOOR, LEVEL, Panel, Row
from ragen_bench.audit.certificate.questions import OPENENV, POLICY, QUESTIONS
from ragen_bench.audit.certificate.scripted_players import PLAYERS
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.specification import spec_hash
from ragen_bench.third_party import register_environment

SCHEMA = 1
_DIGITS = 6
_TRAIN_QUESTIONS = (
    *("static.task_distribution_pinning", "runtime.task_declaration_accuracy"),
    "semantic.oracle_max",
)
"""Questions whose evidence uses train instances."""


@dataclass(frozen=True)
class Certificate:
    """Answers about one environment, by question id."""

    evidence: Evidence
    answers: dict[str, Answer]

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the questions whose answer is "failed"."""
        return tuple(name for name, answer in self.answers.items() if answer.status == "failed")

    def content(self) -> JsonObject:
        """Return the JSON document; it does not depend on the time or the machine."""
        evidence, env = self.evidence, self.evidence.env
        has_id = not env.startswith("python:")
        if has_id and (":" in env or not env.startswith("ragen/")):
            register_environment(env)
        played = any(QUESTIONS[name].plays for name in self.answers)
        return {
            "schema": SCHEMA,
            "env": env,
            "specification": spec_hash(env, "train", "think") if has_id else None,
            "versions": {name: _version(name) for name in ("ragen-bench", "gymnasium", "openenv")},
            "questions_of": {"openenv": OPENENV, "policy": POLICY, "count": len(QUESTIONS)},
            **({"panel": _panel_fields(evidence.panel)} if played else {}),
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
        """Return the text of the certificate's file."""
        return json.dumps(self.content(), indent=1, ensure_ascii=False) + "\n"


def certify(evidence: Evidence, questions: Iterable[str] = QUESTIONS) -> Certificate:
    """Answer questions by evidence, gathered when needed; UserError if it cannot be played."""
    return Certificate(evidence, {name: QUESTIONS[name].answer(evidence) for name in questions})


def _command(evidence: Evidence, question: str) -> str:
    words = ["ragen-bench", "audit", evidence.env, "--question", question]
    if QUESTIONS[question].plays and evidence.episodes != EPISODES:
        words += ["--episodes", str(evidence.episodes)]
    if evidence.levels != LEVELS and question in _TRAIN_QUESTIONS:
        words += ["--levels", str(evidence.levels)]
    return shlex.join(words)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _panel_fields(panel: Panel) -> JsonObject:
    def scores(row: Row) -> JsonObject:
        interval = [round(bound, _DIGITS) for bound in row.interval]
        return {"score": round(row.score, _DIGITS), "interval": interval}

    return {
        "episodes": panel.episodes,
        "level": LEVEL,
        "ceiling": None if panel.ceiling is None else round(panel.ceiling, _DIGITS),
        "rewards": [round(reward, _DIGITS) for reward in panel.rewards],
        "floor": {"player": FLOOR, **scores(panel.floor)},
        **({"blind": scores(panel.blind)} if panel.blind else {}),
        "players": [
            {
                "player": row.player,
                "plays": PLAYERS[row.player].plays,
                **scores(row),
                "higher": row.higher,
                "lower": row.lower,
                "chance": float(f"{row.p_value:.3g}"),
                "above": row.is_above_floor,
                "raised": row.errors,
            }
            for row in panel.rows
        ],
    }
