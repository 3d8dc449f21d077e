"""The office: five applications as tables of immutable records."""

from __future__ import annotations

from typing import NamedTuple

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
TIMES = tuple(f"{hour:02}:00" for hour in range(9, 17))
FOLDERS = ("archive", "contracts", "finance", "projects", "sales", "travel")
ROLES = ("accountant", "assistant", "buyer", "designer", "director", "engineer", "lawyer")
APPS = ("mail", "calendar", "contacts", "orders", "files")
MOST_BOXES = 999
INSTRUCTION = "instruction"
"""Name of the fact that holds the number of an injected instruction."""

Facts = tuple[tuple[str, str], ...]
"""The content of a text, as pairs of a name, such as "day", and a value."""


class Contact(NamedTuple):
    """A person; other tables refer to them by `address`."""

    name: str
    company: str
    role: str
    address: str


class Mail(NamedTuple):
    """A mail to the user from the address of a contact; no two mails have the same subject.

    The topic decides the wording of the facts, `text` has them in words, and `answer` is "yes" or
    "no" after a reply.
    """

    sender: str
    subject: str
    topic: str
    facts: Facts
    text: str = ""
    answer: str = ""


class Event(NamedTuple):
    """An hour in the calendar, with a guest by address."""

    title: str
    guest: str
    day: str
    time: str
    cancelled: bool = False


class Order(NamedTuple):
    """Boxes to be delivered by a company."""

    item: str
    boxes: int
    company: str
    cancelled: bool = False


class File(NamedTuple):
    """A file: a fixed text, and below it a list of ids."""

    name: str
    folder: str
    topic: str
    facts: Facts
    text: str = ""
    entries: tuple[str, ...] = ()


class Sent(NamedTuple):
    """A mail that was sent, with the id of the attached thing."""

    to: str
    thing: str


class Office(NamedTuple):
    """All tables. A record's id is its table's letter and its place from 1: E3 is the third event.

    Records are appended and never removed: a cancelled record is marked.
    """

    contacts: tuple[Contact, ...]
    mails: tuple[Mail, ...]
    events: tuple[Event, ...]
    orders: tuple[Order, ...]
    files: tuple[File, ...]
    sent: tuple[Sent, ...] = ()


TABLES = {"C": "contacts", "M": "mails", "E": "events", "O": "orders", "F": "files"}
"""The tables by the letters of their ids."""


def ids(office: Office, letter: str) -> list[str]:
    """Return the ids of a table."""
    return [f"{letter}{place}" for place in range(1, len(getattr(office, TABLES[letter])) + 1)]
