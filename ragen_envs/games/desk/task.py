"""A task: an office, a request, its difficulties, its split, and its text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import INSTRUCTION, Facts, Office
from ragen_envs.games.desk.requests import (
    Change,
    Step,
    after,
    apply_change,
    calls_of_steps,
    lookups_of,
)
from ragen_envs.games.desk.rules import GAME
from ragen_envs.games.desk.wording import Phrases, vocabulary

_SIXTEENTHS = 2


class Worded(NamedTuple):
    """A task in words.

    Attributes:
        office: The first office, with names and texts.
        steps: The first request.
        change: The change of the request.
        injections: Calls that texts ask for and the user does not.
        request: The text of the first request.
        change_text: The text of the change; "" without one.
        pool: Name of the vocabulary, "train" or "held_out".
    """

    office: Office
    steps: tuple[Step, ...]
    change: Change | None
    injections: tuple[Call, ...]
    request: str
    change_text: str
    pool: str


@dataclass(frozen=True)
class Task:
    """An instance, with placeholders for names: "person 0", "company 1".

    Attributes:
        word: The random word that it was generated from.
        office: The first office.
        steps: The first request.
        change: The change of the request, if there is one.
        injections: Calls that texts of the office ask for and the user does not.
    """

    word: int
    office: Office
    steps: tuple[Step, ...]
    change: Change | None = None
    injections: tuple[Call, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The content hash, independent of the names of people, companies and things."""
        whole = self.office, self.steps, self.change, self.injections
        return content_hash(GAME, json.dumps(whole).encode())

    @cached_property
    def part(self) -> str:
        """The part of all tasks that it belongs to.

        It depends on the request and the content of mails and files, which no call changes, and
        not on what makes the request hard.
        """
        mails = [(mail.sender, mail.topic, _own_facts(mail.facts)) for mail in self.office.mails]
        files = [(file.topic, _own_facts(file.facts)) for file in self.office.files]
        fixed = json.dumps((self.steps, mails, files))
        return partition_of(content_hash(GAME, fixed.encode()), _SIXTEENTHS)

    @cached_property
    def lookups(self) -> tuple[Call, ...]:
        """The calls that show everything that the first request refers to."""
        return lookups_of(self.office, self.steps)

    @cached_property
    def last_lookups(self) -> tuple[Call, ...]:
        """The calls that show everything that the changed request refers to."""
        return lookups_of(self.office, apply_change(self.steps, self.change))

    @cached_property
    def plan_length(self) -> int:
        """Turns of the planner: lookups, changes, and `done`."""
        before = self.lookups[: self.change.turn] if self.change else ()
        return len({*before, *self.last_lookups}) + len(self.steps) + 1

    @cached_property
    def worded(self) -> Worded:
        """The task in words, of the training vocabulary or the held-out one."""
        return _Writer(self, "train" if self.part == "train" else "held_out").write()

    @cached_property
    def start(self) -> Office:
        """The first office, in words."""
        return self.worded.office

    @cached_property
    def goal(self) -> Office:
        """The office that the changed request asks for, in words."""
        last = apply_change(self.worded.steps, self.worded.change)
        return after(self.start, calls_of_steps(self.start, last))

    @cached_property
    def first_goal(self) -> Office:
        """The office that the first request asks for, in words."""
        return after(self.start, calls_of_steps(self.start, self.worded.steps))


def _own_facts(facts: Facts) -> list[tuple[str, str]]:
    """Return the facts without injections."""
    return [fact for fact in facts if fact[0] != INSTRUCTION]


class _Writer(Phrases):
    """Puts a task into words; its random word chooses them."""

    def __init__(self, task: Task, pool: str) -> None:
        self._random = RandomStream("desk words", task.word)
        super().__init__(vocabulary(pool), self._random)
        self._task, self._pool = task, pool

    def write(self) -> Worded:
        task = self._task
        names = self._draw_names()
        office = _rename(task.office, names)
        steps, change = _rename(task.steps, names), _rename(task.change, names)
        injections = _rename(task.injections, names)
        mails = tuple(self._add_text(mail, injections) for mail in office.mails)
        files = tuple(self._add_text(file, injections) for file in office.files)
        return Worded(
            office._replace(mails=mails, files=files),
            steps,
            change,
            injections,
            self._write_request(steps),
            self._write_change(change),
            self._pool,
        )

    def _draw_names(self) -> Mapping[str, str]:
        """Return a name for each placeholder."""
        return {
            f"{kind} {number}": pool[place]
            for kind, pool in self.words.names.items()
            for number, place in enumerate(self._random.sample(range(len(pool)), len(pool)))
        }

    def _write_request(self, steps: tuple[Step, ...]) -> str:
        requests = self.words.requests
        sentences = [
            self.pick(requests["further" if number else "first"]).format(step=self.sentence(step))
            for number, step in enumerate(steps)
        ]
        return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)

    def _write_change(self, change: Change | None) -> str:
        if change is None:
            return ""
        return self.pick(self.words.requests["change"]).format(step=self.sentence(change.step))

    def _add_text(self, record: Any, injections: tuple[Call, ...]) -> Any:
        """Return a mail or a file with its facts in words."""
        facts = dict(record.facts)
        sentences = [self.pick(self.words.texts[record.topic]).format(**facts)]
        if INSTRUCTION in facts:
            step = Step(*injections[int(facts[INSTRUCTION])])
            sentences.append(self.pick(self.words.instructions).format(step=self.sentence(step)))
        return record._replace(text=" ".join(sentences))


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    """Return a structure with names for placeholders."""
    if isinstance(value, str):
        return names.get(value, value) if "@" not in value else _address(value, names)
    if isinstance(value, tuple):
        parts = [_rename(part, names) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _address(placeholder: str, names: Mapping[str, str]) -> str:
    person, _, firm = placeholder.partition("@")
    first_last = names[person].lower().replace(" ", ".")
    return f"{first_last}@{names.get(firm, firm).lower().replace(' ', '')}.example"
