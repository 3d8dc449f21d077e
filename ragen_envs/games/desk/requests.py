"""Requests: steps whose values are spelled out or referred to, and the calls that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragen_envs.games.desk.calls import TOOLS, Call
from ragen_envs.games.desk.office import Office
from ragen_envs.games.desk.references import Value, lookups, matches
from ragen_envs.games.desk.rules import applied

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
