"""Requests: their steps, the references in them, and the calls that they ask for.

A reference is resolved in the office as it was when the request was made. It is clear if exactly
one thing fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, Union

from ragen_envs.games.desk.calls import TOOLS, Call
from ragen_envs.games.desk.office import TABLES, Office
from ragen_envs.games.desk.rules import apply_call

T = TypeVar("T")
Value = Union["Ref", str]
"""A value of a request: a literal or a reference."""


class Ref(NamedTuple):
    """A reference: a key of the tables of this module; and names, literals or nested references."""

    kind: str
    parts: tuple[Value, ...]


def matches(office: Office, value: Value) -> list[str]:
    """Return everything that a value may refer to, once each: ids, addresses, or values."""
    if isinstance(value, str):
        return [value]
    return list(dict.fromkeys(_MATCHES[value.kind](office, *value.parts)))


def is_clear(office: Office, value: Value) -> bool:
    """Return whether a value, and each reference within it, has exactly one match."""
    if isinstance(value, str):
        return True
    return len(matches(office, value)) == 1 and all(is_clear(office, part) for part in value.parts)


def leads_to_text(value: Value) -> bool:
    """Return whether a mail or a file has to be read to resolve a value."""
    if isinstance(value, str):
        return False
    return value.kind in _READ_IN_TEXTS or any(map(leads_to_text, value.parts))


def lookups(office: Office, value: Value) -> Iterator[Call]:
    """Yield the calls that resolve a clear value, in an order that can be followed."""
    if isinstance(value, str):
        return
    for part in value.parts:
        yield from lookups(office, part)
    if value.kind == "asked":
        yield Call("ask", (str(value.parts[0]),))
        return
    if value.kind in _READ_IN_TEXTS:
        yield Call("read", (matches(office, value.parts[-1])[0],))
    if value.kind in _LISTED_IN:
        yield Call("list", (_LISTED_IN[value.kind],))


def _facts(office: Office, fact: str, source: Value) -> Iterator[str]:
    """Yield the values of a fact in the mails and files that a value may refer to."""
    for row in (*_rows(office, "M", source), *_rows(office, "F", source)):
        yield from (value for name, value in row.facts if name == fact)


def _ids(letter: str, rows: Iterable[T], fits: Callable[[T], bool]) -> Iterator[str]:
    return (f"{letter}{n}" for n, row in enumerate(rows, 1) if fits(row))


def _rows(office: Office, letter: str, value: Value) -> list[Any]:
    wanted = matches(office, value)
    rows = getattr(office, TABLES[letter])
    return [row for number, row in enumerate(rows, 1) if f"{letter}{number}" in wanted]


def _suppliers(office: Office, order: Value) -> Iterator[str]:
    firms = [row.company for row in _rows(office, "O", order)]
    return (contact.address for contact in office.contacts if contact.company in firms)


def _items(office: Office, item: str) -> Iterator[str]:
    return _ids("O", office.orders, lambda order: order.item == item)


def _files(office: Office, name: str) -> Iterator[str]:
    return _ids("F", office.files, lambda file: file.name == name)


def _events_with(office: Office, person: Value) -> Iterator[str]:
    guests = matches(office, person)
    return _ids("E", office.events, lambda event: event.guest in guests)


def _mails_from(office: Office, person: Value) -> Iterator[str]:
    people = matches(office, person)
    return _ids("M", office.mails, lambda mail: mail.sender in people)


_MATCHES: dict[str, Callable[..., Iterator[str]]] = {
    # people, by their addresses
    "role": lambda o, company, role: (
        c.address for c in o.contacts if (c.company, c.role) == (company, role)
    ),
    "sender": lambda o, mail: (row.sender for row in _rows(o, "M", mail)),
    "guest": lambda o, event: (row.guest for row in _rows(o, "E", event)),
    "supplier": _suppliers,
    # things, by their ids
    "title": lambda o, title: _ids("E", o.events, lambda event: event.title == title),
    "with": _events_with,
    "slot": lambda o, *slot: _ids("E", o.events, lambda event: (event.day, event.time) == slot),
    "item": _items,
    "order from": lambda o, firm: _ids("O", o.orders, lambda order: order.company == firm),
    "order in": lambda o, text: (id_ for x in _facts(o, "item", text) for id_ in _items(o, x)),
    "file": _files,
    "file in": lambda o, text: (id_ for x in _facts(o, "file", text) for id_ in _files(o, x)),
    "subject": lambda o, subject: _ids("M", o.mails, lambda mail: mail.subject == subject),
    "mail from": _mails_from,
    # values
    "said": _facts,
    "asked": lambda _office, _topic, value: iter((value,)),
}
"""Functions that list the possible targets of a reference, by its kind."""
_LISTED_IN = {
    **dict.fromkeys(("role", "sender", "guest", "supplier"), "contacts"),
    **dict.fromkeys(("title", "with", "slot"), "calendar"),
    **dict.fromkeys(("item", "order from", "order in"), "orders"),
    **dict.fromkeys(("file", "file in"), "files"),
    **dict.fromkeys(("subject", "mail from"), "mail"),
}
"""The application whose list resolves a reference."""
_READ_IN_TEXTS = frozenset({"said", "order in", "file in"})
"""References to the content of a text, which is their last part."""
_APP_OF = {
    **dict.fromkeys(("send", "reply"), "mail"),
    **dict.fromkeys(("schedule", "move"), "calendar"),
    **dict.fromkeys(("move_file", "enter"), "files"),
    "change_order": "orders",
    "add_contact": "contacts",
}
"""The application that a tool changes; `cancel` changes that of its record."""
_OF_LETTER = {"C": "contacts", "M": "mail", "E": "calendar", "O": "orders", "F": "files"}


class Step(NamedTuple):
    """A part of a request: one call, by a tool's name and the values of its parameters in order."""

    tool: str
    values: tuple[Value, ...]


class Change(NamedTuple):
    """A new step in place of another, announced at the end of a turn, or earlier on `done`."""

    turn: int
    place: int
    step: Step


def call_of_step(office: Office, step: Step) -> Call:
    """Return the call that a step of a clear request asks for."""
    return Call(step.tool, tuple(matches(office, value)[0] for value in step.values))


def calls_of_steps(office: Office, steps: Iterable[Step]) -> tuple[Call, ...]:
    """Return the calls that the steps of a clear request ask for."""
    return tuple(call_of_step(office, step) for step in steps)


def after(office: Office, calls: Iterable[Call]) -> Office:
    """Return the office after calls that change it; raise RefusedError if one changes nothing."""
    for call in calls:
        office = apply_call(office, call)
    return office


def lookups_of(office: Office, steps: Iterable[Step]) -> tuple[Call, ...]:
    """Return the calls that resolve all values of steps, each once, in order."""
    values = [value for step in steps for value in step.values]
    return tuple(dict.fromkeys(call for value in values for call in lookups(office, value)))


def apps_of(office: Office, steps: Sequence[Step]) -> set[str]:
    """Return the applications that a clear request uses: to look things up or to change them."""
    apps = set()
    for call in (*lookups_of(office, steps), *calls_of_steps(office, steps)):
        if call.tool == "list":
            apps.add(call.values[0])
        elif call.tool in ("read", "cancel"):
            apps.add(_OF_LETTER[call.values[0][0]])
        elif call.tool != "ask":
            apps.add(_APP_OF[call.tool])
    return apps


def apply_change(steps: Sequence[Step], change: Change | None) -> tuple[Step, ...]:
    """Return the steps after a change."""
    if change is None:
        return tuple(steps)
    return (*steps[: change.place], change.step, *steps[change.place + 1 :])


def named_values(step: Step) -> list[tuple[str, Value]]:
    """Return the values of a step with the names of their parameters."""
    names = (parameter.name for parameter in TOOLS[step.tool].parameters)
    return list(zip(names, step.values, strict=True))
