"""Generates tasks: an office, a clear request, and what is to make it hard.

A request is kept if each of its references fits exactly one thing, if each step changes a thing of
its own that no other step touches, and if it takes two to four applications and a plan that fits
into the budget. So there is one office that it asks for, and no smaller change does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragen_envs.core.instances import Stream
from ragen_envs.games.desk.drafts import KINDS, RequestDraft, office_of, pick
from ragen_envs.games.desk.office import Office
from ragen_envs.games.desk.references import is_clear, leads_to_text
from ragen_envs.games.desk.requests import Step, apps_of, calls_of_steps, changed
from ragen_envs.games.desk.rules import is_possible
from ragen_envs.games.desk.task import Task
from ragen_envs.games.desk.twists import change_of, with_injections

_MOST_APPS = 4
_MOST = 10
"""The vocabulary has names for so many."""
_DRAFTS = 12
"""Requests that are tried in one office."""


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
        drafts = (self._drafted(word, stream, office) for _ in range(_DRAFTS))
        return next((task for task in drafts if task is not None), None)

    def _drafted(self, word: int, stream: Stream, office: Office) -> Task | None:
        """Return one try at a task in an office."""
        steps = RequestDraft(stream, office).steps(pick(stream, KINDS))
        if steps is None or not self._suits(steps) or not is_sound(office, steps):
            return None
        task = Task(word, office, steps)
        if self.shifting:
            change = change_of(stream, office, steps)
            if change is None or not is_sound(office, changed(steps, change)):
                return None
            task = replace(task, change=change)
        if self.hostile:
            injected = with_injections(stream, office, steps)
            if injected is None:
                return None
            task = replace(task, office=injected.office, injections=injected.calls)
        return task if task.plan_length <= self.max_length else None

    def _suits(self, steps: Sequence[Step]) -> bool:
        """Return whether texts that carry instructions would be read at all."""
        values = (value for step in steps for value in step.values)
        return not self.hostile or any(map(leads_to_text, values))


def is_sound(office: Office, steps: Sequence[Step]) -> bool:
    """Return whether a request has one meaning, and its steps change things of their own."""
    if not all(is_clear(office, value) for step in steps for value in step.values):
        return False
    calls = calls_of_steps(office, steps)
    if any(call.tool == "enter" and call.values[0] == call.values[1] for call in calls):
        return False
    changing = [call.values[0] for call in calls if call.tool not in ("send", "schedule")]
    if len(set(changing)) < len(changing):
        return False
    if not all(is_possible(office, call) for call in calls):
        return False
    return 2 <= len(apps_of(office, steps)) <= _MOST_APPS
