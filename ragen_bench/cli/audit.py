"""`audit`: checks the suite's guarantees, runs the testing kit, or writes a certificate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, unknown
from ragen_bench.visible import visible, write_out

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ragen_bench.audit import Audit as EnvAudit
    from ragen_bench.audit.certificate import Certificate
    from ragen_bench.audit.certificate.answers import Status
    from ragen_bench.audit.certificate.panel import Panel
    from ragen_bench.json_types import JsonObject
    from ragen_bench.terminal.tables import MetricsTable
    from ragen_envs.testing import Outcome, Subject

_COLUMNS = (
    *("train", "unsolved", "leaked", "twice", "same", "length"),
    *("ceiling", "oracle", "blind", "kit"),
)
_CAPTION = (
    "train: generated; unsolved, leaked (held out too), twice: must be 0\n"
    "same: held-out ones as generated; length: of solutions; kit: checks passed\n"
    "ceiling: optimal score, ~ a reference's; oracle, blind script: their scores"
)


@dataclass(frozen=True, kw_only=True)
class Audit(JsonOptions, Command):
    """Checks the suite's guarantees on this machine, or another environment.

    Generates, solves and compares instances of the suite's environments and runs the testing kit
    on them; on another environment it runs the kit. With --certificate it answers OpenEnv's
    questions about one environment. Ends with exit code 1 if a guarantee does not hold.
    """

    env: Annotated[
        tuple[str, ...],
        Argument(
            "ENV",
            "ids of the suite (default: all), other ids such as my_pkg:my/Env-v0, or "
            "python:MODULE:ATTRIBUTE, a ragen_envs.testing.Subject or a function that makes an "
            "environment",
        ),
    ] = ()
    levels: Annotated[int, Option("N", "number of train instances")] = 1000
    sealed: Annotated[bool, Option(None, "audit the sealed split too; needs its key")] = False
    out: Annotated[Path | None, Option("FILE", "write all counts as JSON")] = None

    certificate: Annotated[
        Path | None,
        Option("FILE", "answer OpenEnv's questions about one ENV, and write them as JSON"),
    ] = None
    question: Annotated[
        str | None, Option("ID", "answer this question only, such as semantic.floor_gap")
    ] = None
    episodes: Annotated[int, Option("N", "episodes of each scripted player for the questions")] = (
        10_000
    )

    def run(self) -> int:
        """Audit the environments; return 0 if every guarantee holds, else 1."""
        for option, value in (("levels", self.levels), ("episodes", self.episodes)):
            if value < 1:
                raise UserError(f"--{option} must be at least 1, got {value}")
        for option, file in (("out", self.out), ("certificate", self.certificate)):
            if file and not file.parent.is_dir():
                place = f"the directory {file.parent} does not exist; make it first"
                raise UserError(f"--{option} {file}: {place}")
        if self.certificate or self.question:
            return self._certify()
        with self.output() as content:
            return 0 if self._audit(content) else 1

    def _audit(self, content: JsonObject) -> bool:
        """Audit environments, print the counts, and return whether every guarantee holds."""
        from ragen_bench.audit import third_party_subject
        from ragen_bench.suites import env_id
        from ragen_bench.terminal.console import plain_console
        from ragen_envs.core.sealed import open_key
        from ragen_envs.registration import IDS

        if self.sealed:
            open_key()
        ours = [env_id(name) for name in self.env if is_ours(name)] if self.env else list(IDS)
        others = {name: third_party_subject(name) for name in self.env if not is_ours(name)}
        console = plain_console()
        audits = _audit_ours(console, ours, self.levels, self.sealed)
        checked = {name: _check_other(console, name, subject) for name, subject in others.items()}
        if audits:
            console.print(audit_table(audits))
        for name, outcomes in checked.items():
            write_out(_format_checks(name, outcomes))
        problems = [f"{counts.env} {problem}" for counts in audits for problem in counts.problems]
        problems += [
            f"{name} {outcome.name}: {outcome.message}"
            for name, outcomes in checked.items()
            for outcome in outcomes
            if outcome.status == "failed"
        ]
        content["environments"] = [
            {
                **{k: v for k, v in asdict(counts).items() if (k, v) != ("blind", None)},
                "checks": [outcome._asdict() for outcome in counts.checks],
            }
            for counts in audits
        ]
        content["others"] = {
            name: [outcome._asdict() for outcome in outcomes] for name, outcomes in checked.items()
        }
        if self.out:
            self.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        if problems:
            lines = "".join(f"  {visible(problem)}\n" for problem in problems)
            write_out(f"Broken:\n{lines}")
            return False
        write_out("Every guarantee holds.\n" if audits else "No check failed.\n")
        return True

    def _certify(self) -> int:
        """Answer OpenEnv's questions; return 0 if no answer is "failed", else 1."""
        if len(self.env) != 1:
            raise UserError(f"a certificate is for one environment, got {len(self.env)} ENV")
        if self.sealed or self.out:
            raise UserError("--sealed and --out do not go with --certificate and --question")
        from ragen_bench.audit import suite_subject, third_party_subject
        from ragen_bench.audit.certificate import QUESTIONS, Evidence, certify
        from ragen_bench.suites import env_id
        from ragen_bench.terminal.console import plain_console

        if self.question is not None and self.question not in QUESTIONS:
            raise unknown("question", self.question, QUESTIONS)
        with self.output() as content:
            name = self.env[0]
            env = env_id(name) if is_ours(name) else name
            subject = suite_subject(env) if is_ours(name) else third_party_subject(name)
            with _progress(plain_console(), transient=True) as bar:
                task = bar.add_task("certificate", total=1, env="", doing="")

                def report(doing: str, done: int, total: int) -> None:
                    bar.update(task, completed=done, total=total, doing=doing)

                evidence = Evidence(env, subject, self.episodes, self.levels, report)
                certificate = certify(evidence, [self.question] if self.question else QUESTIONS)
            content.update(certificate.content())
            if self.certificate:
                text = certificate.text()
                self.certificate.write_text(text, encoding="utf-8", newline="\n")
            write_out(_format_certificate(certificate, self.certificate))
        return 1 if certificate.failed else 0


def is_ours(name: str) -> bool:
    """Return whether a name on the command line is a registered id, or an attempt at one."""
    import gymnasium

    from ragen_envs.core.game_spec import NAMESPACE
    from ragen_envs.registration import is_registered

    return (
        is_registered(name)
        or is_registered(f"{NAMESPACE}/{name}")
        or not ("/" in name or ":" in name or name in gymnasium.registry)
    )


def _audit_ours(console: Console, ids: Sequence[str], levels: int, sealed: bool) -> list[EnvAudit]:
    from ragen_bench.audit import audit_environment, count_steps
    from ragen_bench.pages.formats import short

    audits: list[EnvAudit] = []
    if not ids:
        return audits
    with _progress(console) as bar:
        total = sum(count_steps(env, levels, sealed) for env in ids)
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
    from ragen_envs.testing import CHECKS, run_checks

    with _progress(console) as bar:
        task = bar.add_task("checks", total=len(CHECKS), env=name, doing="")
        outcomes = run_checks(subject, lambda check: bar.update(task, advance=1, doing=check.name))
        bar.update(task, doing="done")
    return outcomes


def _progress(console: Console, *, transient: bool = False) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[env]} {task.fields[doing]}", markup=False),
        console=console,
        transient=transient,
    )


def audit_table(audits: Sequence[EnvAudit]) -> MetricsTable:
    """Return a table with a row of counts for each environment."""
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.tables import MetricsTable
    from ragen_envs.registration import find_reference

    table = MetricsTable("The suite's guarantees", _CAPTION, _COLUMNS)
    for counts in audits:
        passed = sum(outcome.status == "passed" for outcome in counts.checks)
        ran = sum(outcome.status != "skipped" for outcome in counts.checks)
        table.add_row(
            short(counts.env),
            f"{counts.levels:,}",
            *map(str, (counts.unsolved, counts.leaked, counts.doubled, counts.shipped)),
            "-" if counts.shortest is None else f"{counts.shortest}-{counts.longest}",
            f"{'~' if find_reference(counts.env) else ''}{counts.ceiling:.3f}",
            f"{counts.oracle:.3f}",
            "-" if counts.blind is None else f"{counts.blind:.3f}",
            f"{passed}/{ran}",
        )
    return table


def _format_checks(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes on a third-party environment, skipped checks grouped by reason."""
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


def _format_certificate(certificate: Certificate, file: Path | None) -> str:
    from ragen_bench.audit.certificate import QUESTIONS

    lines = [f"OpenEnv's questions about {certificate.evidence.env}"]
    for name, answer in certificate.answers.items():
        lines += ["", f"{answer.status:<10}{name}  {QUESTIONS[name].text}"]
        lines += [f"          {text}" for text in (answer.evidence, answer.reason) if text]
    if any(QUESTIONS[name].plays for name in certificate.answers):
        lines += ["", *_format_panel(certificate.evidence.panel)]
    counts = Counter(answer.status for answer in certificate.answers.values())
    statuses: tuple[Status, ...] = ("passed", "failed", "exempt", "not asked")
    totals = ", ".join(f"{counts[status]} {status}" for status in statuses)
    lines += ["", f"{len(certificate.answers)} questions: {totals}"]
    lines += [f"Certificate  {file}"] if file else []
    return "\n".join(lines) + "\n"


def _format_panel(panel: Panel) -> list[str]:
    from ragen_bench.audit.certificate.panel import BLIND, FLOOR
    from ragen_bench.audit.certificate.scripted_players import PLAYERS

    best = "" if panel.ceiling is None else f"; best player {panel.ceiling:.4f}"
    players = [(panel.floor, FLOOR, "random actions: the random baseline")]
    for row in panel.rows:
        mark = ", above the random baseline" if row.is_above_floor else ""
        players.append((row, row.player, f"{PLAYERS[row.player].about}{mark}"))
    if panel.blind:
        players.append((panel.blind, BLIND, "the best fixed script, which reads nothing"))
    return [
        f"{panel.episodes:,} episodes each{best}",
        *(
            f"  {name:<9} {row.score:.4f} [{low:.4f}, {high:.4f}]  {about}"
            for row, name, about in players
            for low, high in [row.interval]
        ),
    ]
