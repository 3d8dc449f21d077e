"""A task: an office, a request, its difficulties, its split, and all of it in words."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import INSTRUCTION, File, Mail, Office
from ragen_envs.games.desk.requests import (
    Change,
    Ref,
    Step,
    Value,
    after,
    apply_change,
    calls_of_steps,
    lookups_of,
    named_values,
)
from ragen_envs.games.desk.rules import GAME

TextT = TypeVar("TextT", Mail, File)
_SIXTEENTHS = 2
_PARTS = {
    "role": ("company", "role"),
    "sender": ("mail",),
    "guest": ("event",),
    "supplier": ("order",),
    "title": ("title",),
    "with": ("person",),
    "slot": ("day", "time"),
    "item": ("item",),
    "order from": ("company",),
    "order in": ("source",),
    "file": ("name",),
    "file in": ("source",),
    "subject": ("subject",),
    "mail from": ("person",),
    "said": ("fact", "source"),
}
"""The names of a reference's parts in its phrase."""
_TOPIC_OF = {
    **dict.fromkeys(("to", "guest", "name"), "person"),
    **dict.fromkeys(("thing", "id", "mail", "event", "order", "file"), "thing"),
}
"""Topics of the parameters that are not a topic themselves."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names and wordings of training, or of all held-out splits; see the files.

    Names are by kind of thing, phrases by reference, steps by tool and texts by topic. Requests
    have openings of the first and of later steps, and of a change. Instructions are sentences
    around an instruction that is not the user's.
    """

    names: dict[str, tuple[str, ...]]
    phrases: dict[str, tuple[str, ...]]
    steps: dict[str, tuple[str, ...]]
    texts: dict[str, tuple[str, ...]]
    requests: dict[str, tuple[str, ...]]
    instructions: tuple[str, ...]


@cache
def vocabulary(pool: str) -> Vocabulary:
    """Return the vocabulary of "train" or "held_out", read once per process."""
    file = files("ragen_envs.games.desk").joinpath("vocabulary", f"{pool}.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    frames = tuple(tables.pop("instructions")["frames"])
    frozen = {
        table: {name: tuple(words) for name, words in rows.items()}
        for table, rows in tables.items()
    }
    return Vocabulary(instructions=frames, **frozen)


class Phrases:
    """Writes phrases and sentences."""

    def __init__(self, words: Vocabulary, stream: RandomStream | None) -> None:
        self.words, self._stream = words, stream

    def pick(self, wordings: tuple[str, ...]) -> str:
        return wordings[self._stream.below(len(wordings)) if self._stream else 0]

    def phrase(self, parameter: str, value: Value, answering: bool = False) -> str:
        """Return the phrase of a value; an answer spells out what only the user knows."""
        phrases = self.words.phrases
        if isinstance(value, Ref) and value.kind == "asked":
            if not answering:
                return self.pick(phrases[f"asked {value.parts[0]}"])
            value = value.parts[1]
        if isinstance(value, str):
            return self.pick(phrases.get(f"literal {parameter}", ("{value}",))).format(value=value)
        kind = f"said {value.parts[0]}" if value.kind == "said" else value.kind
        parts = {
            name: self.phrase(name, part) if isinstance(part, Ref) else part
            for name, part in zip(_PARTS[value.kind], value.parts, strict=True)
        }
        return self.pick(phrases[kind]).format(**parts)

    def sentence(self, step: Step) -> str:
        """Return the sentence that asks for a step, without a capital or a full stop."""
        values = {name: self.phrase(name, value) for name, value in named_values(step)}
        return self.pick(self.words.steps[step.tool]).format(**values)


class Worded(NamedTuple):
    """A task in words: the first office and request, with names and texts, and the change.

    Texts ask for the injected calls, and the user does not. `change_text` is "" without a change,
    and the vocabulary's pool is "train" or "held_out".
    """

    office: Office
    steps: tuple[Step, ...]
    change: Change | None
    injections: tuple[Call, ...]
    request: str
    change_text: str
    pool: str


@dataclass(frozen=True)
class Task:
    """An instance, with placeholders for names: "person 0", "company 1".

    It was generated from a random word, and has the first office and request. Texts of the office
    ask for the injected calls, and the user does not.
    """

    word: int
    office: Office
    steps: tuple[Step, ...]
    change: Change | None = None
    injections: tuple[Call, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The content hash, independent of the names of people, companies and things."""
        whole = self.office, self.steps, self.change, self.injections
        return content_hash(GAME, json.dumps(whole).encode())

    @cached_property
    def part(self) -> str:
        """The part of all tasks, by the request and the texts of mails and files, which stay."""

        def facts(record: Mail | File) -> list[tuple[str, str]]:
            return [fact for fact in record.facts if fact[0] != INSTRUCTION]

        mails = [(mail.sender, mail.topic, facts(mail)) for mail in self.office.mails]
        files = [(file.topic, facts(file)) for file in self.office.files]
        fixed = json.dumps((self.steps, mails, files))
        return partition_of(content_hash(GAME, fixed.encode()), _SIXTEENTHS)

    @cached_property
    def lookups(self) -> tuple[Call, ...]:
        """The calls that show everything that the first request refers to."""
        return lookups_of(self.office, self.steps)

    @cached_property
    def last_lookups(self) -> tuple[Call, ...]:
        """The calls that show everything that the changed request refers to."""
        return lookups_of(self.office, apply_change(self.steps, self.change))

    @cached_property
    def plan_length(self) -> int:
        """Turns of the planner: lookups, changes, and `done`."""
        before = self.lookups[: self.change.turn] if self.change else ()
        return len({*before, *self.last_lookups}) + len(self.steps) + 1

    @cached_property
    def worded(self) -> Worded:
        return _Writer(self, "train" if self.part == "train" else "held_out").write()

    @cached_property
    def start(self) -> Office:
        return self.worded.office

    @cached_property
    def goal(self) -> Office:
        """The office that the changed request asks for, in words."""
        last = apply_change(self.worded.steps, self.worded.change)
        return after(self.start, calls_of_steps(self.start, last))

    @cached_property
    def first_goal(self) -> Office:
        """The office that the first request asks for, in words."""
        return after(self.start, calls_of_steps(self.start, self.worded.steps))


class _Writer(Phrases):
    """Puts a task into words; its random word chooses them."""

    def __init__(self, task: Task, pool: str) -> None:
        self._random = RandomStream("desk words", task.word)
        super().__init__(vocabulary(pool), self._random)
        self._task, self._pool = task, pool

    def write(self) -> Worded:
        task = self._task
        names = {
            f"{kind} {number}": pool[place]
            for kind, pool in self.words.names.items()
            for number, place in enumerate(self._random.sample(range(len(pool)), len(pool)))
        }
        office = _rename(task.office, names)
        steps, change = _rename(task.steps, names), _rename(task.change, names)
        injections = _rename(task.injections, names)
        mails = tuple(self._add_text(mail, injections) for mail in office.mails)
        files = tuple(self._add_text(file, injections) for file in office.files)
        openings = self.words.requests
        sentences = [
            self.pick(openings["further" if number else "first"]).format(step=self.sentence(step))
            for number, step in enumerate(steps)
        ]
        request = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
        change_text = ""
        if change:
            change_text = self.pick(openings["change"]).format(step=self.sentence(change.step))
        office = office._replace(mails=mails, files=files)
        return Worded(office, steps, change, injections, request, change_text, self._pool)

    def _add_text(self, record: TextT, injections: tuple[Call, ...]) -> TextT:
        """Return a mail or a file with its facts in words."""
        facts = dict(record.facts)
        sentences = [self.pick(self.words.texts[record.topic]).format(**facts)]
        if INSTRUCTION in facts:
            step = Step(*injections[int(facts[INSTRUCTION])])
            sentences.append(self.pick(self.words.instructions).format(step=self.sentence(step)))
        return record._replace(text=" ".join(sentences))


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and "@" in value:
        person, _, firm = value.partition("@")
        first_last = names[person].lower().replace(" ", ".")
        return f"{first_last}@{names.get(firm, firm).lower().replace(' ', '')}.example"
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, tuple):
        parts = [_rename(part, names) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@lru_cache(maxsize=4096)
def reply_to(about: str, steps: tuple[Step, ...], pool: str) -> str:
    """Return the user's reply to a question."""
    phrases = Phrases(vocabulary(pool), None)
    values = [
        f"{step.tool.replace('_', ' ')}: {phrases.phrase(name, value, answering=True)}"
        for step in steps
        for name, value in named_values(step)
        if _TOPIC_OF.get(name, name) == about
    ]
    return "; ".join(values) if values else f"My request names no {about}"
