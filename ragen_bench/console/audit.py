"""An audit in the terminal: a progress bar, then a table of what was counted."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ragen_bench.audit import Audit, audit_environment, steps_of, third_party_subject
from ragen_bench.console.plain import plain_console
from ragen_bench.console.tables import FiguresTable
from ragen_bench.environments import why_reference
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object
from ragen_bench.suites import env_id
from ragen_bench.visible import visible
from ragen_envs.core.sealed import open_key
from ragen_envs.registration import IDS, OPPONENT_IDS, TABLE
from ragen_envs.testing import CHECKS, Outcome, Subject, run_checks

_COLUMNS = (
    *("train", "unsolved", "leaked", "twice", "shipped", "length"),
    *("ceiling", "oracle", "kit"),
)
_EXPLAINED = (
    "train: instances generated. unsolved, leaked (in train and held out), twice (in a held-out "
    "split): must be 0. shipped: held-out instances equal to those generated anew. length: of "
    "optimal solutions. ceiling: expected score of the best player, with ~ in front an estimate of "
    "a reference player's, which is no ceiling; oracle: what it scored. kit: checks of "
    "ragen_envs.testing that passed."
)


def audit(
    names: Sequence[str], levels: int, sealed: bool, out: Path | None, content: Object
) -> bool:
    """Audit environments, print the counts, and return whether every guarantee holds.

    Args:
        names: the suite's ids, or a third party's environments; all of the suite's if empty.
        levels: train instances to generate of each.
        sealed: whether the sealed split is looked at too, where there is one.
        out: a file for everything that was counted, as JSON.
        content: the dictionary that the same is put into.

    Raises:
        UserError: for an environment that is unknown.
        SealedKeyError: if the sealed split is wanted and there is no key.
    """
    if sealed:
        open_key()
    ours = [env_id(name) for name in names if is_ours(name)] if names else list(IDS)
    others = {name: third_party_subject(name) for name in names if not is_ours(name)}
    console = plain_console()
    audits = _audit_ours(console, ours, levels, sealed)
    checked = {name: _check_other(console, name, subject) for name, subject in others.items()}
    if audits:
        console.print(_table(audits))
    for name, outcomes in checked.items():
        sys.stdout.write(visible(_check_lines(name, outcomes)))
    problems = [f"{counts.env} {problem}" for counts in audits for problem in counts.problems]
    problems += [
        f"{name} {outcome.name}: {outcome.message}"
        for name, outcomes in checked.items()
        for outcome in outcomes
        if outcome.status == "failed"
    ]
    content.update(_content(audits, checked))
    if out:
        out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if problems:
        sys.stdout.write("Broken:\n" + "".join(f"  {visible(problem)}\n" for problem in problems))
        return False
    sys.stdout.write("Every guarantee holds.\n" if audits else "No check failed.\n")
    return True


def is_ours(name: str) -> bool:
    """Return whether a name on the command line is one of this suite, or meant to be."""
    return (
        name in (*IDS, *OPPONENT_IDS)
        or name in TABLE
        or not ("/" in name or ":" in name or name in gymnasium.registry)
    )


def _audit_ours(console: Console, ids: Sequence[str], levels: int, sealed: bool) -> list[Audit]:
    audits: list[Audit] = []
    if not ids:
        return audits
    with _progress(console) as bar:
        total = sum(steps_of(env, levels, sealed) for env in ids)
        task = bar.add_task("audit", total=total, env="", doing="")
        for env in ids:
            bar.update(task, env=short(env))

            def advance(steps: int, doing: str) -> None:
                bar.advance(task, steps)
                if doing:
                    bar.update(task, doing=doing)

            audits.append(audit_environment(env, levels, advance, sealed))
        bar.update(task, env="", doing="done")
    return audits


def _check_other(console: Console, name: str, subject: Subject) -> tuple[Outcome, ...]:
    with _progress(console) as bar:
        task = bar.add_task("checks", total=len(CHECKS), env=name, doing="")
        outcomes = run_checks(subject, lambda check: bar.update(task, advance=1, doing=check.name))
        bar.update(task, doing="done")
    return outcomes


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[env]} {task.fields[doing]}", markup=False),
        console=console,
    )


def _table(audits: Sequence[Audit]) -> FiguresTable:
    table = FiguresTable("The suite's guarantees", _EXPLAINED, _COLUMNS)
    for counts in audits:
        table.add_row(*_cells(counts))
    return table


def _cells(counts: Audit) -> list[str]:
    passed = sum(outcome.status == "passed" for outcome in counts.checks)
    ran = sum(outcome.status != "skipped" for outcome in counts.checks)
    return [
        short(counts.env),
        f"{counts.levels:,}",
        *map(str, (counts.unsolved, counts.leaked, counts.doubled, counts.shipped)),
        "-" if counts.shortest is None else f"{counts.shortest}-{counts.longest}",
        f"{'~' if why_reference(counts.env) else ''}{counts.ceiling:.3f}",
        f"{counts.oracle:.3f}",
        f"{passed}/{ran}",
    ]


def _check_lines(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return what the kit found on a third party's environment, skips grouped by their reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        reason = f": {outcome.message}" if outcome.status == "skipped" else ""
        groups.setdefault((outcome.status, reason), []).append(outcome.name)
    order = ("passed", "skipped", "failed")
    rows = sorted(groups.items(), key=lambda row: order.index(row[0][0]))
    lines = [f"  {status:<8} {', '.join(names)}{reason}\n" for (status, reason), names in rows]
    counts = [sum(outcome.status == status for outcome in outcomes) for status in order]
    totals = ", ".join(f"{count} {status}" for count, status in zip(counts, order, strict=True))
    if any("needs the option" in reason for _, reason in groups):
        lines.append("  Options are given by a ragen_envs.testing.Subject: python:MODULE:SUBJECT\n")
    return f"Checks of {name}: {totals}\n{''.join(lines)}"


def _content(audits: Sequence[Audit], checked: dict[str, tuple[Outcome, ...]]) -> Object:
    return {
        "environments": [
            {
                **dataclasses.asdict(counts),
                "checks": [outcome._asdict() for outcome in counts.checks],
            }
            for counts in audits
        ],
        "others": {
            name: [outcome._asdict() for outcome in outcomes] for name, outcomes in checked.items()
        },
    }
