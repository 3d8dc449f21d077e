"""The certificate of `audit --certificate`: its answers, and the scores of scripted players."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ragen_bench.audit import suite_subject, third_party_subject
from ragen_bench.audit.certificate import QUESTIONS, Certificate, Evidence, certify
from ragen_bench.audit.certificate.answers import Status
from ragen_bench.audit.certificate.panel import FLOOR, PLAYERS, Panel
from ragen_bench.cli.audit import is_ours
from ragen_bench.errors import unknown
from ragen_bench.json_types import JsonObject
from ragen_bench.suites import env_id
from ragen_bench.terminal.console import plain_console
from ragen_bench.visible import visible

_STATUSES: tuple[Status, ...] = ("passed", "failed", "exempt", "not asked")


def certify_environment(
    name: str,
    episodes: int,
    levels: int,
    file: Path | None,
    question: str | None,
    content: JsonObject,
) -> bool:
    """Answer OpenEnv's questions about an environment; return whether no answer is "failed".

    `name` is as `audit` takes it, `episodes` is the number of each scripted player, and `levels`
    that of train instances of this suite's environments. Without `question` all are answered. The
    certificate is put into `content`, and into `file`. An unknown environment or question raises a
    UserError.
    """
    if question is not None and question not in QUESTIONS:
        raise unknown("question", question, QUESTIONS)
    env = env_id(name) if is_ours(name) else name
    subject = suite_subject(env) if is_ours(name) else third_party_subject(name)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}", markup=False),
        console=plain_console(),
        transient=True,
    )
    with bar:
        task = bar.add_task("certificate", total=1, doing="")

        def report(doing: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, doing=doing)

        evidence = Evidence(env, subject, episodes, levels, report)
        certificate = certify(evidence, [question] if question else QUESTIONS)
    content.update(certificate.content())
    if file:
        file.write_text(certificate.text(), encoding="utf-8", newline="\n")
    sys.stdout.write(visible(_format_certificate(certificate, file)))
    return not certificate.failed


def _format_certificate(certificate: Certificate, file: Path | None) -> str:
    lines = [f"OpenEnv's questions about {certificate.evidence.env}"]
    for name, answer in certificate.answers.items():
        lines += ["", f"{answer.status:<10}{name}  {QUESTIONS[name].text}"]
        lines += [f"          {text}" for text in (answer.evidence, answer.reason) if text]
    if any(QUESTIONS[name].plays for name in certificate.answers):
        lines += ["", *_format_panel(certificate.evidence.panel)]
    counts = Counter(answer.status for answer in certificate.answers.values())
    totals = ", ".join(f"{counts[status]} {status}" for status in _STATUSES)
    lines += ["", f"{len(certificate.answers)} questions: {totals}"]
    lines += [f"Certificate  {file}"] if file else []
    return "\n".join(lines) + "\n"


def _format_panel(panel: Panel) -> list[str]:
    best = "" if panel.ceiling is None else f"; best player {panel.ceiling:.4f}"
    players = [(panel.floor, FLOOR, "random actions: the random baseline")]
    for row in panel.rows:
        mark = ", above the random baseline" if row.is_above_floor else ""
        players.append((row, row.player, f"{PLAYERS[row.player].about}{mark}"))
    return [
        f"{panel.episodes:,} episodes each{best}",
        *(
            f"  {name:<9} {row.score:.4f} [{low:.4f}, {high:.4f}]  {about}"
            for row, name, about in players
            for low, high in [row.interval]
        ),
    ]
