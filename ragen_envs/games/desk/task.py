"""A task: an office, a request, what makes it hard, and the split that it belongs to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import content_hash, partition_of
from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import INSTRUCTION, Office
from ragen_envs.games.desk.requests import (
    Change,
    Step,
    after,
    calls_of_steps,
    changed,
    lookups_of,
)
from ragen_envs.games.desk.rules import GAME
from ragen_envs.games.desk.wording import Worded, worded

_SIXTEENTHS = 2


@dataclass(frozen=True)
class Task:
    """An instance, with placeholders in the place of names: "person 0", "company 1".

    Attributes:
        word: the random word that it was generated from.
        office: as it is at first.
        steps: what the user asks for at first.
        change: how the user changes that, if at all.
        injections: the calls that texts of the office ask for and the user does not.
    """

    word: int
    office: Office
    steps: tuple[Step, ...]
    change: Change | None = None
    injections: tuple[Call, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The content hash, equal whatever people, companies and things are called."""
        whole = self.office, self.steps, self.change, self.injections
        return content_hash(GAME, json.dumps(whole).encode())

    @cached_property
    def part(self) -> str:
        """The part of all tasks that it belongs to.

        Decided by the request and by what mails and files say, which no call changes, and not by
        what makes the request hard.
        """
        mails = [(mail.sender, mail.topic, _facts(mail.facts)) for mail in self.office.mails]
        files = [(file.topic, _facts(file.facts)) for file in self.office.files]
        fixed = json.dumps((self.steps, mails, files))
        return partition_of(content_hash(GAME, fixed.encode()), _SIXTEENTHS)

    @cached_property
    def lookups(self) -> tuple[Call, ...]:
        """What shows all that the request refers to, as it is at first."""
        return lookups_of(self.office, self.steps)

    @cached_property
    def last_lookups(self) -> tuple[Call, ...]:
        """What shows all that the request refers to, as it is in the end."""
        return lookups_of(self.office, changed(self.steps, self.change))

    @cached_property
    def plan_length(self) -> int:
        """Turns of the planner: lookups, changes, and the last word."""
        before = self.lookups[: self.change.turn] if self.change else ()
        return len({*before, *self.last_lookups}) + len(self.steps) + 1

    @cached_property
    def worded(self) -> Worded:
        """The task in words: of training, or of what is held out."""
        return worded(self, "train" if self.part == "train" else "held_out")

    @cached_property
    def start(self) -> Office:
        """The office at first, in words."""
        return self.worded.office

    @cached_property
    def goal(self) -> Office:
        """The office that is asked for in the end, in words."""
        last = changed(self.worded.steps, self.worded.change)
        return after(self.start, calls_of_steps(self.start, last))

    @cached_property
    def first_goal(self) -> Office:
        """The office that is asked for at first, in words."""
        return after(self.start, calls_of_steps(self.start, self.worded.steps))


def _facts(facts: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [fact for fact in facts if fact[0] != INSTRUCTION]
