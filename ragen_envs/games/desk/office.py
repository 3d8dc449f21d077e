"""The office: five applications as tables of records, which calls replace and never change."""

from __future__ import annotations

from typing import NamedTuple

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
TIMES = tuple(f"{hour:02}:00" for hour in range(9, 17))
FOLDERS = ("archive", "contracts", "finance", "projects", "sales", "travel")
ROLES = ("accountant", "assistant", "buyer", "designer", "director", "engineer", "lawyer")
APPS = ("mail", "calendar", "contacts", "orders", "files")
MOST_BOXES = 999
INSTRUCTION = "instruction"
"""The fact of a text that carries an instruction: the number of the injection."""

Facts = tuple[tuple[str, str], ...]
"""What a text says, as pairs of a name, such as "day", and a value."""


class Contact(NamedTuple):
    """A person; `address` is where mails to them go, and names them in other tables."""

    name: str
    company: str
    role: str
    address: str


class Mail(NamedTuple):
    """A mail to the user.

    Attributes:
        sender: the address of a contact.
        subject: unlike that of any other mail.
        topic: what kind of mail it is, which decides how its facts are worded.
        facts: what it says.
        text: that in words.
        answer: "yes" or "no" once it was answered.
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
    """Boxes that a company is to deliver."""

    item: str
    boxes: int
    company: str
    cancelled: bool = False


class File(NamedTuple):
    """A file: its text, which nothing changes, and below it a list of ids."""

    name: str
    folder: str
    topic: str
    facts: Facts
    text: str = ""
    entries: tuple[str, ...] = ()


class Sent(NamedTuple):
    """A mail that was sent, with what was attached by id."""

    to: str
    thing: str


class Office(NamedTuple):
    """All of it. A record's id is its table's letter and its place from 1: E3 is the third event.

    Records are added at the end, and none goes away: what is cancelled is marked.
    """

    contacts: tuple[Contact, ...]
    mails: tuple[Mail, ...]
    events: tuple[Event, ...]
    orders: tuple[Order, ...]
    files: tuple[File, ...]
    sent: tuple[Sent, ...] = ()


TABLES = {"C": "contacts", "M": "mails", "E": "events", "O": "orders", "F": "files"}
"""The tables by the letters of their ids."""


def place_of(office: Office, thing: str) -> int | None:
    """Return the place of an id in its table, None if there is no such record.

    Args:
        office: where it is looked up.
        thing: an id in form, such as "E3".
    """
    place = int(thing[1:]) - 1
    return place if 0 <= place < len(getattr(office, TABLES[thing[0]])) else None


def ids(office: Office, letter: str) -> list[str]:
    """Return the ids of a table."""
    return [f"{letter}{place}" for place in range(1, len(getattr(office, TABLES[letter])) + 1)]
