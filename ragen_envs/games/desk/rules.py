"""The effect of a call on the office, the difference of two offices, and how to repair it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import TABLES, Contact, Event, File, Office, Order, Sent

GAME = "desk"
DONE = Call("done")


class RefusedError(ValueError):
    """A call that would change nothing or names a missing record; its message is for the player."""


def apply_call(office: Office, call: Call) -> Office:
    """Return the office after a call that changes it; raise RefusedError if it would not."""
    return _WRITES[call.tool](office, *call.values)


def is_possible(office: Office, call: Call) -> bool:
    """Return whether a call would change the office."""
    try:
        apply_call(office, call)
    except RefusedError:
        return False
    return True


def record_of(office: Office, thing: str, letters: str = "CMEOF") -> Any:
    """Return the record of an id; raise RefusedError if the tables of these letters lack it."""
    rows = getattr(office, TABLES[thing[0]]) if thing[0] in letters else ()
    if not 1 <= int(thing[1:]) <= len(rows):
        raise RefusedError(f"There is no such thing as {thing} here.")
    return rows[int(thing[1:]) - 1]


def _send(office: Office, to: str, thing: str) -> Office:
    record_of(office, thing)
    return office._replace(sent=(*office.sent, Sent(to, thing)))


def _reply(office: Office, mail: str, answer: str) -> Office:
    found = record_of(office, mail)
    if found.answer:
        raise RefusedError(f"{mail} was answered before.")
    return replace_record(office, mail, found._replace(answer=answer))


def _schedule(office: Office, title: str, guest: str, day: str, time: str) -> Office:
    return office._replace(events=(*office.events, Event(title, guest, day, time)))


def _move(office: Office, event: str, day: str, time: str) -> Office:
    found = _standing(office, event)
    if (found.day, found.time) == (day, time):
        raise RefusedError(f"{event} is there already.")
    return replace_record(office, event, found._replace(day=day, time=time))


def _cancel(office: Office, thing: str) -> Office:
    return replace_record(office, thing, _standing(office, thing)._replace(cancelled=True))


def _change_order(office: Office, order: str, boxes: str) -> Office:
    found = _standing(office, order)
    if found.boxes == int(boxes):
        raise RefusedError(f"{order} is for as many already.")
    return replace_record(office, order, found._replace(boxes=int(boxes)))


def _move_file(office: Office, file: str, folder: str) -> Office:
    found = record_of(office, file)
    if found.folder == folder:
        raise RefusedError(f"{file} is there already.")
    return replace_record(office, file, found._replace(folder=folder))


def _enter(office: Office, file: str, thing: str) -> Office:
    found = record_of(office, file)
    record_of(office, thing)
    if thing in found.entries:
        raise RefusedError(f"{thing} stands in {file} already.")
    entries = tuple(sorted((*found.entries, thing)))
    return replace_record(office, file, found._replace(entries=entries))


def _add_contact(office: Office, name: str, company: str, address: str) -> Office:
    if any(contact.address == address for contact in office.contacts):
        raise RefusedError(f"{address} is among the contacts already.")
    added = Contact(name.title(), company.title(), "", address)
    return office._replace(contacts=(*office.contacts, added))


_WRITES: dict[str, Callable[..., Office]] = {
    "send": _send,
    "reply": _reply,
    "schedule": _schedule,
    "move": _move,
    "cancel": _cancel,
    "change_order": _change_order,
    "move_file": _move_file,
    "enter": _enter,
    "add_contact": _add_contact,
}


def _standing(office: Office, thing: str) -> Any:
    found = record_of(office, thing, "EO")
    if found.cancelled:
        raise RefusedError(f"{thing} is cancelled.")
    return found


def replace_record(office: Office, thing: str, record: object) -> Office:
    """Return the office with a record replaced."""
    table, place = TABLES[thing[0]], int(thing[1:]) - 1
    rows = getattr(office, table)
    return office._replace(**{table: (*rows[:place], record, *rows[place + 1 :])})


class Difference(NamedTuple):
    """Numbers of records by which an office differs from the goal.

    `missing` are to be changed or made and not as requested; `side_effects` were changed or made
    and are not as requested.
    """

    missing: int
    side_effects: int


def difference(start: Office, goal: Office, now: Office) -> Difference:
    """Return the difference between an office and the goal; both counts are 0 at the goal.

    New records are compared by content, whatever their order. A record that was to be changed and
    is neither as before nor as requested counts as both.
    """
    missing = side_effects = 0
    for was, wanted, found in zip(start, goal, now, strict=True):
        if found is wanted:  # most tables are unchanged
            continue
        for before, aim, present in zip(was, wanted, found, strict=False):
            if present is not aim and present != aim:
                missing += aim != before
                side_effects += present != before
        if len(was) < len(wanted) or len(was) < len(found):
            to_make = [*wanted[len(was) :]]
            for made in found[len(was) :]:
                if made in to_make:
                    to_make.remove(made)
                else:
                    side_effects += 1
            missing += len(to_make)
    return Difference(missing, side_effects)


def repairs(now: Office, goal: Office) -> Iterator[Call]:
    """Yield calls that bring an office to the goal, as far as changes can be undone."""
    for letter, found, wanted in (
        ("M", now.mails, goal.mails),
        ("E", now.events, goal.events),
        ("O", now.orders, goal.orders),
        ("F", now.files, goal.files),
    ):
        if found is wanted:
            continue
        for number, (record, asked) in enumerate(zip(found, wanted, strict=False), 1):
            if record != asked:
                yield from _repair(f"{letter}{number}", record, asked)
    for contact in goal.contacts[len(now.contacts) :]:
        yield Call("add_contact", (contact.name.lower(), contact.company.lower(), contact.address))
    for event in goal.events[len(now.events) :]:
        yield Call("schedule", (event.title, event.guest, event.day, event.time))
    for sent in (Counter(goal.sent) - Counter(now.sent)).elements():
        yield Call("send", sent)


def _repair(thing: str, record: object, asked: object) -> Iterator[Call]:
    if isinstance(record, Event) and isinstance(asked, Event) and not record.cancelled:
        if asked.cancelled:
            yield Call("cancel", (thing,))
        elif (record.day, record.time) != (asked.day, asked.time):
            yield Call("move", (thing, asked.day, asked.time))
    elif isinstance(record, Order) and isinstance(asked, Order) and not record.cancelled:
        if record.boxes != asked.boxes:
            yield Call("change_order", (thing, str(asked.boxes)))
        if asked.cancelled:
            yield Call("cancel", (thing,))
    elif isinstance(record, File) and isinstance(asked, File):
        if record.folder != asked.folder:
            yield Call("move_file", (thing, asked.folder))
        for entry in sorted({*asked.entries} - {*record.entries}):
            yield Call("enter", (thing, entry))
    elif getattr(asked, "answer", "") and not getattr(record, "answer", ""):
        yield Call("reply", (thing, asked.answer))  # type: ignore[attr-defined]  # a mail
