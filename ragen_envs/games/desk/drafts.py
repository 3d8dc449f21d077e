"""Draws an office and a request for it, with placeholders for names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.desk.office import (
    DAYS,
    FOLDERS,
    ROLES,
    TIMES,
    Contact,
    Event,
    Facts,
    File,
    Mail,
    Office,
    Order,
)
from ragen_envs.games.desk.requests import Ref, Step, Value

T = TypeVar("T")

KINDS: tuple[tuple[str, ...], ...] = (
    ("move", "send"),
    ("schedule", "send"),
    ("change_order", "send"),
    ("change_order", "reply"),
    ("move_file", "send"),
    ("enter", "move"),
    ("add_contact", "schedule"),
    ("cancel", "reply"),
    ("cancel", "change_order"),
    ("move", "change_order", "send"),
    ("schedule", "move_file", "reply"),
    ("change_order", "enter", "reply"),
    ("cancel", "schedule", "send"),
    ("add_contact", "move", "enter"),
    ("move_file", "change_order", "cancel"),
)
"""Kinds of requests, as the tools of their steps."""
MAIL_TOPICS = ("proposal", "amount", "paper", "newcomer", "news", "chat")
FILE_TOPICS = ("plan", "count", "label", "draft")


def person(number: int) -> str:
    """Return the placeholder of a person's name."""
    return f"person {number}"


def company(number: int) -> str:
    """Return the placeholder of a company's name."""
    return f"company {number}"


def address(number: int, firm: str) -> str:
    """Return the placeholder of an address."""
    return f"{person(number)}@{firm}"


def pick(stream: RandomStream, values: Sequence[T]) -> T:
    """Return one of the values."""
    return values[stream.below(len(values))]


def office_of(stream: RandomStream, sizes: Sequence[int]) -> Office:
    """Draw an office with these numbers of contacts, mails, events, orders and files."""
    people, mails, events, orders, files = sizes
    firms = 0
    contacts = []
    for number in range(people):
        # Companies are numbered as they first occur, so that equal offices have equal numbers.
        firm = stream.below(min(firms + 1, people // 2 + 1))
        firms = max(firms, firm + 1)
        role, name = pick(stream, ROLES), company(firm)
        contacts.append(Contact(person(number), name, role, address(number, name)))
    slots = stream.sample(range(len(DAYS) * len(TIMES)), events)
    inbox = [_mail(stream, number, contacts, sizes) for number in range(mails)]
    calendar = []
    for number, slot in enumerate(slots):
        guest = pick(stream, contacts).address
        day, hour = divmod(slot, len(TIMES))
        calendar.append(Event(f"title {number}", guest, DAYS[day], TIMES[hour]))
    ordered = [
        Order(f"item {number}", int(boxes(stream)), company(stream.below(firms)))
        for number in range(orders)
    ]
    shelf = [_file(stream, number) for number in range(files)]
    return Office(tuple(contacts), tuple(inbox), tuple(calendar), tuple(ordered), tuple(shelf))


def _mail(
    stream: RandomStream, number: int, contacts: Sequence[Contact], sizes: Sequence[int]
) -> Mail:
    people, _, _, orders, files = sizes
    topic, sender = pick(stream, MAIL_TOPICS), pick(stream, contacts)
    facts: Facts = ()
    if topic == "proposal":
        facts = _day_and_time(stream)
    elif topic == "newcomer":
        name, firm = people + number, pick(stream, contacts).company
        facts = ("name", person(name)), ("company", firm), ("address", address(name, firm))
    elif topic == "paper":
        facts = ("file", f"file {stream.below(files)}"), ("folder", pick(stream, FOLDERS))
    elif topic in ("amount", "news"):
        item = "item", f"item {stream.below(orders)}"
        facts = (item, ("boxes", boxes(stream))) if topic == "amount" else (item,)
    return Mail(sender.address, f"subject {number}", topic, facts)


def _file(stream: RandomStream, number: int) -> File:
    topic = pick(stream, FILE_TOPICS)
    facts: Facts = ()
    if topic == "plan":
        facts = _day_and_time(stream)
    elif topic == "count":
        facts = (("boxes", boxes(stream)),)
    elif topic == "label":
        facts = (("folder", pick(stream, FOLDERS)),)
    return File(f"file {number}", pick(stream, FOLDERS), topic, facts)


def _day_and_time(stream: RandomStream) -> Facts:
    return ("day", pick(stream, DAYS)), ("time", pick(stream, TIMES))


def boxes(stream: RandomStream) -> str:
    """Return a number of boxes."""
    return str(5 * (1 + stream.below(40)))


class RequestDraft:
    """Draws the steps of a request; its references need not be clear."""

    def __init__(self, stream: RandomStream, office: Office) -> None:
        self._stream, self._office = stream, office
        self._may_ask = True
        self._steps: dict[str, Callable[[], tuple[Value, ...]]] = {
            "move": lambda: (self._event(), *self._day_and_time()),
            "schedule": lambda: (
                f"title {len(office.events)}",
                self._person(),
                *self._day_and_time(),
            ),
            "cancel": lambda: ((self._event if stream.below(2) else self._order)(),),
            "change_order": lambda: (self._order(), self._value("boxes", boxes(stream))),
            "send": lambda: (self._person(), self._thing()),
            "reply": lambda: (self._mail(), self._value("answer", pick(stream, ("yes", "no")))),
            "move_file": lambda: (self._file(), self._value("folder", pick(stream, FOLDERS))),
            "enter": lambda: (self._file(), self._thing()),
            "add_contact": self._newcomer,
        }

    def steps(self, kind: Sequence[str]) -> tuple[Step, ...] | None:
        """Return steps that call these tools; None if the office lacks a thing to refer to."""
        try:
            return tuple(Step(tool, self._steps[tool]()) for tool in kind)
        except ValueError:  # the stream cannot choose among no values
            return None

    def _person(self) -> Ref:
        stream, office = self._stream, self._office
        kind = pick(stream, ("role", "role", "sender", "guest", "supplier"))
        if kind == "role":
            return self._colleague()
        if kind == "sender":
            part = Ref("subject", (pick(stream, office.mails).subject,))
        elif kind == "guest":
            part = Ref("title", (pick(stream, office.events).title,))
        else:
            part = Ref("item", (pick(stream, office.orders).item,))
        return Ref(kind, (part,))

    def _colleague(self) -> Ref:
        found = pick(self._stream, self._office.contacts)
        return Ref("role", (found.company, found.role))

    def _event(self) -> Ref:
        found = pick(self._stream, self._office.events)
        kind = pick(self._stream, ("title", "with", "slot"))
        if kind == "with":
            return Ref(kind, (self._person(),))
        return Ref(kind, (found.title,) if kind == "title" else (found.day, found.time))

    def _order(self) -> Ref:
        found = pick(self._stream, self._office.orders)
        kind = pick(self._stream, ("item", "order from", "order in"))
        if kind == "order in":
            return Ref(kind, (self._source("item"),))
        return Ref(kind, (found.item if kind == "item" else found.company,))

    def _file(self) -> Ref:
        if self._stream.below(3) == 0:
            return Ref("file in", (self._source("file"),))
        return Ref("file", (pick(self._stream, self._office.files).name,))

    def _mail(self) -> Ref:
        if self._stream.below(2):
            return Ref("mail from", (self._colleague(),))
        return Ref("subject", (pick(self._stream, self._office.mails).subject,))

    def _thing(self) -> Ref:
        return pick(self._stream, (self._event, self._order, self._file))()

    def _source(self, fact: str) -> Ref:
        """Return a mail or a file that states a fact."""
        stream, office = self._stream, self._office
        every: tuple[Mail | File, ...] = (*office.mails, *office.files)
        found = pick(stream, [text for text in every if fact in dict(text.facts)])
        if isinstance(found, File):
            return Ref("file", (found.name,))
        if stream.below(2):
            writer = next(c for c in office.contacts if c.address == found.sender)
            return Ref("mail from", (Ref("role", (writer.company, writer.role)),))
        return Ref("subject", (found.subject,))

    def _value(self, fact: str, literal: str) -> Value:
        """Return a literal value, a reference to a text, or a value that only the user knows."""
        roll = self._stream.below(6)
        if roll < 2 and fact != "answer":
            return Ref("said", (fact, self._source(fact)))
        if roll == 2 and self._may_ask:
            self._may_ask = False
            return Ref("asked", (fact, literal))
        return literal

    def _day_and_time(self) -> tuple[Value, Value]:
        day = self._value("day", pick(self._stream, DAYS))
        if isinstance(day, Ref) and day.kind == "said":
            return day, Ref("said", ("time", day.parts[1]))
        return day, pick(self._stream, TIMES)

    def _newcomer(self) -> tuple[Value, ...]:
        source = self._source("name")
        return tuple(Ref("said", (fact, source)) for fact in ("name", "company", "address"))
