"""A certificate in the terminal: the answers, and what the scripted players scored."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ragen_bench.audit import suite_subject, third_party_subject
from ragen_bench.audit.certificate import QUESTIONS, Certificate, Evidence, certify
from ragen_bench.audit.certificate.answers import Status
from ragen_bench.audit.certificate.panel import FLOOR, Panel, Row
from ragen_bench.audit.certificate.players import PLAYERS
from ragen_bench.console.audit import is_ours
from ragen_bench.console.plain import plain_console
from ragen_bench.errors import unknown
from ragen_bench.runs.schema import Object
from ragen_bench.suites import env_id
from ragen_bench.visible import visible

_STATUSES: tuple[Status, ...] = ("passed", "failed", "exempt", "not asked")


def certificate(
    name: str,
    episodes: int,
    levels: int,
    file: Path | None,
    question: str | None,
    content: Object,
) -> bool:
    """Answer OpenEnv's questions of an environment, and return whether no answer is "failed".

    Args:
        name: the environment, as `audit` takes it.
        episodes: of each scripted player.
        levels: train instances of this suite's environments.
        file: where the certificate is written, if anywhere.
        question: the one that is answered, all if None.
        content: the dictionary that the certificate is put into.

    Raises:
        UserError: for an environment or a question that is unknown.
    """
    if question is not None and question not in QUESTIONS:
        raise unknown("question", question, QUESTIONS)
    env = env_id(name) if is_ours(name) else name
    subject = suite_subject(env) if is_ours(name) else third_party_subject(name)
    with _progress(plain_console()) as bar:
        tell = _Teller(bar)
        evidence = Evidence(env, subject, episodes, levels, tell)
        found = certify(evidence, [question] if question else QUESTIONS)
    content.update(found.content())
    if file:
        file.write_text(found.text(), encoding="utf-8", newline="\n")
    sys.stdout.write(visible(_text(found, file)))
    return not found.failed


class _Teller:
    """Shows progress."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task: TaskID = bar.add_task("certificate", total=1, doing="")

    def __call__(self, doing: str, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total, doing=doing)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}", markup=False),
        console=console,
        transient=True,
    )


def _text(found: Certificate, file: Path | None) -> str:
    lines = [f"OpenEnv's questions of {found.evidence.env}"]
    for name, answer in found.answers.items():
        lines += ["", f"{answer.status:<10}{name}  {QUESTIONS[name].text}"]
        lines += [f"          {said}" for said in (answer.evidence, answer.reason) if said]
    if any(QUESTIONS[name].plays for name in found.answers):
        lines += ["", *_panel_lines(found.evidence.panel)]
    counts = Counter(answer.status for answer in found.answers.values())
    totals = ", ".join(f"{counts[status]} {status}" for status in _STATUSES)
    lines += ["", f"{len(found.answers)} questions: {totals}"]
    lines += [f"Certificate  {file}"] if file else []
    return "\n".join(lines) + "\n"


def _panel_lines(panel: Panel) -> list[str]:
    best = "" if panel.ceiling is None else f"; best player {panel.ceiling:.4f}"
    return [
        f"{panel.episodes:,} episodes each{best}",
        _player_line(panel.floor, FLOOR, "random actions: the floor"),
        *(
            _player_line(row, row.player, PLAYERS[row.player].about, row.above)
            for row in panel.rows
        ),
    ]


def _player_line(row: Row, name: str, about: str, above: bool = False) -> str:
    low, high = row.interval
    mark = ", above the floor" if above else ""
    return f"  {name:<9} {row.score:.4f} [{low:.4f}, {high:.4f}]  {about}{mark}"
