"""Verdicts: the checks of a verification, and their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragen_bench.leaderboard.plausibility import Sign
from ragen_bench.leaderboard.rules import apart
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.runs.schema import Object


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: which, in a word.
        passed: whether it holds.
        said: what was found.
    """

    name: str
    passed: bool
    said: str


@dataclass
class Verdict:
    """The result of a verification.

    Attributes:
        directory: the name of the entry's directory.
        entry: the content of entry.json, None if it has not the published form.
        checks: what was checked, in order. One that failed is there once for each reason.
        episodes: lines of episodes that were looked at.
        turns: answers that were replayed.
        signs: what makes the answers less plausible; none of it refuses the entry.
    """

    directory: str
    entry: Entry | None = None
    checks: list[Check] = field(default_factory=list)
    episodes: int = 0
    turns: int = 0
    signs: list[Sign] = field(default_factory=list)
    _now: str = ""

    @property
    def verified(self) -> bool:
        """Whether every check was made and holds."""
        return self._now == "" and all(check.passed for check in self.checks)

    @property
    def problems(self) -> list[str]:
        """Why the entry is refused, each reason with the check that found it."""
        return [f"{check.name}: {check.said}" for check in self.checks if not check.passed]

    def begin(self, name: str) -> None:
        """Go on to the next check."""
        self._now = name

    def passed(self, said: str) -> None:
        """Record that the present check holds."""
        self.checks.append(Check(self._now, True, said))
        self._now = ""

    def failed(self, reasons: Sequence[str]) -> None:
        """Record why the present check does not hold."""
        self.checks += [Check(self._now, False, reason) for reason in reasons]

    def as_json(self) -> Object:
        """Return the verdict as `verify --json` writes it."""
        entry = self.entry if self.verified else None
        return {
            "entry": self.directory,
            "verified": self.verified,
            "apart": apart(entry.run) if entry else None,
            "suite_score": entry.summary.suite_score if entry else None,
            "episodes": self.episodes,
            "turns": self.turns,
            "checks": [vars(check) for check in self.checks],
            "signs": [vars(sign) for sign in self.signs],
        }
