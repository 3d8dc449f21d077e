"""The planner: looks up the values that it needs, makes the missing changes, then calls done.

It knows the whole office and the user's later messages, but uses only values that it has seen
in an observation, in words or as an id. So a player without this knowledge can follow it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import Event, File, Office, Order

DONE = Call("done")


def next_call(
    lookups: Iterable[Call], shown: Collection[Call], now: Office, goal: Office, turns_left: int
) -> Call:
    """Return the next call of the plan.

    Args:
        lookups: Calls that show everything that the current request refers to.
        shown: Calls made so far.
        now: The office.
        goal: The requested office.
        turns_left: Remaining turns.
    """
    if turns_left == 1:
        return DONE
    unseen = (call for call in lookups if call not in shown)
    return next(unseen, None) or next(repairs(now, goal), DONE)


def repairs(now: Office, goal: Office) -> Iterator[Call]:
    """Yield calls that bring an office to the goal, as far as calls can.

    Mails, replies, entries, new records and cancellations cannot be undone.
    """
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
    """Yield the calls that bring a record to the requested one."""
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
