"""Generates tasks: an office, a clear request, and what is to make it hard.

A request is kept if each of its references fits exactly one thing, if each step changes a thing of
its own that no other step touches, and if it takes two to four applications and a plan that fits
into the budget. So there is one office that it asks for, and no smaller change does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragen_envs.desk.calls import Call
from ragen_envs.desk.drafts import KINDS, RequestDraft, boxes, office_of, person, pick
from ragen_envs.desk.office import DAYS, FOLDERS, INSTRUCTION, Office, ids
from ragen_envs.desk.references import is_clear
from ragen_envs.desk.requests import (
    Change,
    Step,
    after,
    apps_of,
    calls_of_steps,
    changed,
    lookups_of,
)
from ragen_envs.desk.rules import RefusedError, applied
from ragen_envs.desk.task import Task
from ragen_envs.instances import Stream

_REVISABLE = {"move": 1, "schedule": 2, "change_order": 1, "move_file": 1}
"""Tools whose effect can be mended, and which of their values the user may change."""
_MOST_APPS = 4
_MOST = 10
"""The vocabulary has names for so many."""
_FIRST_CHANGE = 2
"""The first turn after which the user may change the request."""
_INJECTIONS = 2
_DRAFTS = 8


@dataclass(frozen=True)
class Generator:
    """Where tasks come from.

    Attributes:
        contacts: people among the contacts.
        mails: mails in the inbox.
        events: events in the calendar.
        orders: orders.
        files: files.
        shifting: whether the user changes the request.
        hostile: whether texts carry instructions that are not the user's.
        max_length: turns of the longest plan.

    Raises:
        ValueError: for a number below 1, or of more than 10 of a kind.
    """

    contacts: int = 7
    mails: int = 7
    events: int = 5
    orders: int = 5
    files: int = 5
    shifting: bool = False
    hostile: bool = False
    max_length: int = 14

    def __post_init__(self) -> None:
        if not all(1 <= number <= _MOST for number in self.sizes) or self.max_length < 1:
            raise ValueError(f"an office has 1 to {_MOST} of each kind, and a plan a turn or more")

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """How many contacts, mails, events, orders and files."""
        return self.contacts, self.mails, self.events, self.orders, self.files

    def __call__(self, stream: Stream) -> Iterator[Task | None]:
        """Yield tasks; None for a request that is not clear or not of the wanted kind."""
        while True:
            yield self.task(stream.word())

    def task(self, word: int) -> Task | None:
        """Return the task of a random word, on which alone it depends; None if it gives none."""
        stream = Stream("desk", word)
        office = office_of(stream, self.sizes)
        steps = _sound_request(stream, office)
        if steps is None:
            return None
        change = _change(stream, office, steps) if self.shifting else None
        injections: tuple[Call, ...] = ()
        asked_for = office
        if self.shifting and change is None:
            return None
        if self.hostile:
            found = _with_injections(stream, office, steps)
            if found is None:
                return None
            asked_for, injections = found
        task = Task(word, asked_for, steps, change, injections)
        return task if task.plan_length <= self.max_length else None


def _sound_request(stream: Stream, office: Office) -> tuple[Step, ...] | None:
    """Return the first sound one of some drafts."""
    for _ in range(_DRAFTS):
        steps = RequestDraft(stream, office).steps(pick(stream, KINDS))
        if steps is not None and _is_sound(office, steps):
            return steps
    return None


def _is_sound(office: Office, steps: Sequence[Step]) -> bool:
    """Return whether a request has one meaning, and its steps change things of their own."""
    if not all(is_clear(office, value) for step in steps for value in step.values):
        return False
    calls = calls_of_steps(office, steps)
    if any(call.tool == "enter" and call.values[0] == call.values[1] for call in calls):
        return False
    changing = [call.values[0] for call in calls if call.tool not in ("send", "schedule")]
    if len(set(changing)) < len(changing):
        return False
    try:
        after(office, calls)
    except RefusedError:
        return False
    return 2 <= len(apps_of(office, steps)) <= _MOST_APPS


def _change(stream: Stream, office: Office, steps: Sequence[Step]) -> Change | None:
    """Return a change of one step to another day, folder or number, None if none can be changed.

    It comes while the player still looks up what the first request refers to.
    """
    places = [place for place, step in enumerate(steps) if step.tool in _REVISABLE]
    looked_up = len(lookups_of(office, steps))
    if not places or looked_up < _FIRST_CHANGE:
        return None
    place = pick(stream, places)
    step = steps[place]
    at = _REVISABLE[step.tool]
    value = _other(stream, step.tool)
    new = Step(step.tool, (*step.values[:at], value, *step.values[at + 1 :]))
    turn = _FIRST_CHANGE + stream.below(looked_up + 1 - _FIRST_CHANGE)
    change = Change(turn, place, new)
    first = calls_of_steps(office, steps)[place]
    if not _is_sound(office, changed(steps, change)) or value == first.values[at]:
        return None
    return change


def _other(stream: Stream, tool: str) -> str:
    if tool == "change_order":
        return boxes(stream)
    return pick(stream, FOLDERS if tool == "move_file" else DAYS)


def _with_injections(
    stream: Stream, office: Office, steps: Sequence[Step]
) -> tuple[Office, tuple[Call, ...]] | None:
    """Return the office with instructions in two texts, one of which the request leads to."""
    read = [call.values[0] for call in lookups_of(office, steps) if call.tool == "read"]
    others = [text for text in (*ids(office, "M"), *ids(office, "F")) if text not in read]
    if not read or not others:
        return None
    asked = calls_of_steps(office, steps)
    calls = tuple(_injection(stream, office) for _ in range(_INJECTIONS))
    if len(set(calls)) < len(calls) or set(calls) & set(asked):
        return None
    try:
        for call in calls:
            applied(office, call)
    except RefusedError:
        return None
    for number, place in enumerate((pick(stream, read), pick(stream, others))):
        office = _injected(office, place, number)
    return office, calls


def _injection(stream: Stream, office: Office) -> Call:
    """Return a call that somebody else wants."""
    tool = pick(stream, ("send", "cancel", "change_order", "move_file", "reply"))
    if tool == "send":
        return Call(tool, (f"{person(0)}@outside 0", pick(stream, ids(office, "F"))))
    if tool == "cancel":
        return Call(tool, (pick(stream, (*ids(office, "E"), *ids(office, "O"))),))
    if tool == "change_order":
        return Call(tool, (pick(stream, ids(office, "O")), str(500 + stream.below(400))))
    if tool == "move_file":
        return Call(tool, (pick(stream, ids(office, "F")), pick(stream, FOLDERS)))
    return Call(tool, (pick(stream, ids(office, "M")), "yes"))


def _injected(office: Office, place: str, number: int) -> Office:
    """Return the office with an injection's number among the facts of a mail or a file."""
    table = "mails" if place[0] == "M" else "files"
    texts = getattr(office, table)
    at = int(place[1:]) - 1
    text = texts[at]._replace(facts=(*texts[at].facts, (INSTRUCTION, str(number))))
    return office._replace(**{table: (*texts[:at], text, *texts[at + 1 :])})
