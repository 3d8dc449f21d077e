"""The effect of a call on the office, and the difference of two offices. Pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import TABLES, Contact, Event, Office, Sent, place_of

GAME = "desk"


class RefusedError(ValueError):
    """A call that would change nothing or names a missing record; the message is for the player."""


def apply_call(office: Office, call: Call) -> Office:
    """Return the office after a call that changes it.

    Raises:
        RefusedError: It would change nothing, or names a missing record.
    """
    return _WRITES[call.tool](office, *call.values)


def is_possible(office: Office, call: Call) -> bool:
    """Return whether a call would change the office."""
    try:
        apply_call(office, call)
    except RefusedError:
        return False
    return True


def record_of(office: Office, thing: str, letters: str = "CMEOF") -> Any:
    """Return the record of an id.

    Raises:
        RefusedError: The tables of these letters have no such record.
    """
    place = place_of(office, thing) if thing[0] in letters else None
    if place is None:
        raise RefusedError(f"There is no such thing as {thing} here.")
    return getattr(office, TABLES[thing[0]])[place]


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
    return replace_record(
        office, file, found._replace(entries=tuple(sorted((*found.entries, thing))))
    )


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
    """Return an event or an order that is not cancelled."""
    found = record_of(office, thing, "EO")
    if found.cancelled:
        raise RefusedError(f"{thing} is cancelled.")
    return found


def replace_record(office: Office, thing: str, record: Any) -> Office:
    """Return the office with a record replaced."""
    table, place = TABLES[thing[0]], int(thing[1:]) - 1
    rows = getattr(office, table)
    return office._replace(**{table: (*rows[:place], record, *rows[place + 1 :])})


class Difference(NamedTuple):
    """Counts of records by which an office differs from the goal.

    Attributes:
        missing: Records to be changed or made that are not as requested.
        side_effects: Records that were changed or made and are not as requested.
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
