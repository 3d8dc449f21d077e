"""Requests: their steps, the references in them, and the calls that they ask for.

A reference is resolved in the office as it was when the request was made. It is clear if exactly
one thing fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Union

from ragen_envs.games.desk.calls import TOOLS, Call
from ragen_envs.games.desk.office import File, Mail, Office
from ragen_envs.games.desk.rules import applied

Value = Union["Ref", str]
"""A value as a request has it: spelled out, or by a reference."""


class Ref(NamedTuple):
    """A reference.

    Attributes:
        kind: a key of the tables of this module, which say what `parts` are.
        parts: names, values or further references.
    """

    kind: str
    parts: tuple[Value, ...]


def matches(office: Office, value: Value) -> list[str]:
    """Return all that a value may stand for: ids, addresses of people, or values; each once."""
    if isinstance(value, str):
        return [value]
    return list(dict.fromkeys(_MATCHES[value.kind](office, *value.parts)))


def is_clear(office: Office, value: Value) -> bool:
    """Return whether a value, and each reference within it, stands for exactly one thing."""
    if isinstance(value, str):
        return True
    return len(matches(office, value)) == 1 and all(is_clear(office, part) for part in value.parts)


def leads_to_text(value: Value) -> bool:
    """Return whether a mail or a file has to be read to find what a value stands for."""
    if isinstance(value, str):
        return False
    return value.kind in _READ_IN_TEXTS or any(map(leads_to_text, value.parts))


def lookups(office: Office, value: Value) -> Iterator[Call]:
    """Yield the calls that show what a clear value stands for, in an order that can be followed."""
    if isinstance(value, str):
        return
    for part in value.parts:
        yield from lookups(office, part)
    if value.kind == "asked":
        yield Call("ask", (str(value.parts[0]),))
        return
    if value.kind in _READ_IN_TEXTS:
        yield Call("read", (matches(office, value.parts[-1])[0],))
    if value.kind in _SHOWN_IN:
        yield Call("list", (_SHOWN_IN[value.kind],))


# People, by their addresses.


def _role(office: Office, company: str, role: str) -> Iterator[str]:
    """The person with a role at a company."""
    return (c.address for c in office.contacts if (c.company, c.role) == (company, role))


def _sender(office: Office, mail: Value) -> Iterator[str]:
    """Who wrote a mail."""
    return (text.sender for text in _texts(office, mail) if isinstance(text, Mail))


def _guest(office: Office, event: Value) -> Iterator[str]:
    """Who is the guest of an event."""
    events = matches(office, event)
    return (e.guest for number, e in enumerate(office.events, 1) if f"E{number}" in events)


def _supplier(office: Office, order: Value) -> Iterator[str]:
    """Who works where an order goes."""
    orders = matches(office, order)
    firms = [o.company for number, o in enumerate(office.orders, 1) if f"O{number}" in orders]
    return (c.address for c in office.contacts if c.company in firms)


# Things, by their ids.


def _title(office: Office, title: str) -> Iterator[str]:
    """The event with a title."""
    return (f"E{n}" for n, event in enumerate(office.events, 1) if event.title == title)


def _with(office: Office, person: Value) -> Iterator[str]:
    """The event with a guest."""
    guests = matches(office, person)
    return (f"E{n}" for n, event in enumerate(office.events, 1) if event.guest in guests)


def _slot(office: Office, day: str, time: str) -> Iterator[str]:
    """The event at a time."""
    return (f"E{n}" for n, e in enumerate(office.events, 1) if (e.day, e.time) == (day, time))


def _item(office: Office, item: str) -> Iterator[str]:
    """The order of an item."""
    return (f"O{n}" for n, order in enumerate(office.orders, 1) if order.item == item)


def _order_from(office: Office, company: str) -> Iterator[str]:
    """The order that goes to a company."""
    return (f"O{n}" for n, order in enumerate(office.orders, 1) if order.company == company)


def _order_in(office: Office, source: Value) -> Iterator[str]:
    """The order whose item a text names."""
    return (order for item in _said(office, "item", source) for order in _item(office, item))


def _file(office: Office, name: str) -> Iterator[str]:
    """The file with a name."""
    return (f"F{n}" for n, file in enumerate(office.files, 1) if file.name == name)


def _file_in(office: Office, source: Value) -> Iterator[str]:
    """The file whose name a text gives."""
    return (file for name in _said(office, "file", source) for file in _file(office, name))


def _subject(office: Office, subject: str) -> Iterator[str]:
    """The mail with a subject."""
    return (f"M{n}" for n, mail in enumerate(office.mails, 1) if mail.subject == subject)


def _mail_from(office: Office, person: Value) -> Iterator[str]:
    """The mail that somebody wrote."""
    people = matches(office, person)
    return (f"M{n}" for n, mail in enumerate(office.mails, 1) if mail.sender in people)


# Values.


def _said(office: Office, fact: str, source: Value) -> Iterator[str]:
    """What a mail or a file says."""
    texts = _texts(office, source)
    return (value for text in texts for name, value in text.facts if name == fact)


def _asked(_office: Office, _about: str, value: str) -> Iterator[str]:
    """What the user tells when asked."""
    yield value


def _texts(office: Office, source: Value) -> Iterator[Mail | File]:
    """Yield the mails and files that a value may stand for."""
    wanted = matches(office, source)
    yield from (mail for number, mail in enumerate(office.mails, 1) if f"M{number}" in wanted)
    yield from (file for number, file in enumerate(office.files, 1) if f"F{number}" in wanted)


_MATCHES: dict[str, Callable[..., Iterator[str]]] = {
    "role": _role,
    "sender": _sender,
    "guest": _guest,
    "supplier": _supplier,
    "title": _title,
    "with": _with,
    "slot": _slot,
    "item": _item,
    "order from": _order_from,
    "order in": _order_in,
    "file": _file,
    "file in": _file_in,
    "subject": _subject,
    "mail from": _mail_from,
    "said": _said,
    "asked": _asked,
}
_SHOWN_IN = {
    **dict.fromkeys(("role", "sender", "guest", "supplier"), "contacts"),
    **dict.fromkeys(("title", "with", "slot"), "calendar"),
    **dict.fromkeys(("item", "order from", "order in"), "orders"),
    **dict.fromkeys(("file", "file in"), "files"),
    **dict.fromkeys(("subject", "mail from"), "mail"),
}
"""The application whose list shows what a reference stands for."""
_READ_IN_TEXTS = frozenset({"said", "order in", "file in"})
"""References to what a text says, which is their last part."""


APP_OF = {
    "send": "mail",
    "reply": "mail",
    "schedule": "calendar",
    "move": "calendar",
    "change_order": "orders",
    "move_file": "files",
    "enter": "files",
    "add_contact": "contacts",
}
"""The application that a tool changes; `cancel` changes that of its thing."""
_OF_LETTER = {"C": "contacts", "M": "mail", "E": "calendar", "O": "orders", "F": "files"}


class Step(NamedTuple):
    """A part of a request: one call.

    Attributes:
        tool: what is to be called.
        values: of its parameters, in order.
    """

    tool: str
    values: tuple[Value, ...]


class Change(NamedTuple):
    """How the user changes the request.

    Attributes:
        turn: the turn after which the user says so, if the player is not done before.
        place: which of the steps changes.
        step: what takes its place.
    """

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
    """Return the office after calls that change it.

    Raises:
        RefusedError: if one of them would change nothing.
    """
    for call in calls:
        office = applied(office, call)
    return office


def lookups_of(office: Office, steps: Iterable[Step]) -> tuple[Call, ...]:
    """Return the calls that show all that steps refer to, each once, in order."""
    values = [value for step in steps for value in step.values]
    return tuple(dict.fromkeys(call for value in values for call in lookups(office, value)))


def apps_of(office: Office, steps: Sequence[Step]) -> set[str]:
    """Return the applications that a clear request takes: those looked up, and those changed."""
    apps = set()
    for call in (*lookups_of(office, steps), *calls_of_steps(office, steps)):
        if call.tool == "list":
            apps.add(call.values[0])
        elif call.tool in ("read", "cancel"):
            apps.add(_OF_LETTER[call.values[0][0]])
        elif call.tool != "ask":
            apps.add(APP_OF[call.tool])
    return apps


def changed(steps: Sequence[Step], change: Change | None) -> tuple[Step, ...]:
    """Return the steps as they are after a change."""
    if change is None:
        return tuple(steps)
    return (*steps[: change.place], change.step, *steps[change.place + 1 :])


def named_values(step: Step) -> list[tuple[str, Value]]:
    """Return the values of a step with the names of their parameters."""
    names = (parameter.name for parameter in TOOLS[step.tool].parameters)
    return list(zip(names, step.values, strict=True))
