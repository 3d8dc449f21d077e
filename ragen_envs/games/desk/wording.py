"""A task in words: names for placeholders, the request, and what mails and files say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ragen_envs.core.instances import Stream
from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.office import INSTRUCTION, Office
from ragen_envs.games.desk.references import Ref, Value
from ragen_envs.games.desk.requests import Change, Step, named_values
from ragen_envs.games.desk.vocabulary import Vocabulary, vocabulary

if TYPE_CHECKING:
    from ragen_envs.games.desk.task import Task

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
"""What the parts of a reference are called in its phrase."""
_TOPIC_OF = {
    **dict.fromkeys(("to", "guest", "name"), "person"),
    **dict.fromkeys(("thing", "id", "mail", "event", "order", "file"), "thing"),
}
"""What questions about a parameter are about, where that is not its own name."""


class Worded(NamedTuple):
    """A task in words.

    Attributes:
        office: as it is at first, with names and texts.
        steps: what the user asks for at first.
        change: how the user changes that.
        injections: the calls that texts ask for and the user does not.
        request: what the user asks for, in sentences.
        change_text: how the user says what changes; "" without a change.
        pool: the vocabulary, "train" or "held_out".
    """

    office: Office
    steps: tuple[Step, ...]
    change: Change | None
    injections: tuple[Call, ...]
    request: str
    change_text: str
    pool: str


def worded(task: Task, pool: str) -> Worded:
    """Return a task in the words of a vocabulary, as the task's random word decides."""
    return _Writer(task, pool).written(task)


@lru_cache(maxsize=4096)
def reply_to(about: str, steps: tuple[Step, ...], pool: str) -> str:
    """Return what the user says when asked: what the request has, in the user's words.

    Args:
        about: what the question is about.
        steps: the request as it is now.
        pool: the vocabulary.
    """
    writer = _Phrases(vocabulary(pool), None)
    told = [
        f"{step.tool.replace('_', ' ')}: {writer.phrase(name, value, answering=True)}"
        for step in steps
        for name, value in named_values(step)
        if _TOPIC_OF.get(name, name) == about
    ]
    return "; ".join(told) if told else f"My request names no {about}"


class _Phrases:
    """Writes phrases and sentences.

    Args:
        words: the vocabulary.
        stream: picks among its wordings; None for the first of each.
    """

    def __init__(self, words: Vocabulary, stream: Stream | None) -> None:
        self._words, self._stream = words, stream

    def pick(self, wordings: tuple[str, ...]) -> str:
        return wordings[self._stream.below(len(wordings)) if self._stream else 0]

    def phrase(self, parameter: str, value: Value, answering: bool = False) -> str:
        """Return how a value is spoken of; one that only the user knows is told in an answer."""
        phrases = self._words.phrases
        if isinstance(value, Ref) and value.kind == "asked":
            if not answering:
                return self.pick(phrases[f"asked {value.parts[0]}"])
            value = value.parts[1]
        if isinstance(value, str):
            return self.pick(phrases.get(f"literal {parameter}", ("{value}",))).format(value=value)
        kind = f"said {value.parts[0]}" if value.kind == "said" else value.kind
        names = _PARTS[value.kind]
        parts = {
            name: self.phrase(name, part) if isinstance(part, Ref) else part
            for name, part in zip(names, value.parts, strict=True)
        }
        return self.pick(phrases[kind]).format(**parts)

    def sentence(self, step: Step) -> str:
        """Return how a step is asked for, without a capital or a stop."""
        values = {name: self.phrase(name, value) for name, value in named_values(step)}
        return self.pick(self._words.steps[step.tool]).format(**values)


class _Writer(_Phrases):
    """Writes a task, with names and wordings of its own."""

    def __init__(self, task: Task, pool: str) -> None:
        self._random = Stream("desk words", task.word)
        super().__init__(vocabulary(pool), self._random)
        self._pool = pool

    def written(self, task: Task) -> Worded:
        """Return the task in words."""
        names = self._names()
        office = _renamed(task.office, names)
        steps, change = _renamed(task.steps, names), _renamed(task.change, names)
        injections = _renamed(task.injections, names)
        mails = tuple(self._with_text(mail, injections) for mail in office.mails)
        files = tuple(self._with_text(file, injections) for file in office.files)
        return Worded(
            office._replace(mails=mails, files=files),
            steps,
            change,
            injections,
            self._request(steps),
            self._change(change),
            self._pool,
        )

    def _names(self) -> Mapping[str, str]:
        """Return a name for each placeholder."""
        names = {}
        for what, pool in self._words.names.items():
            for number, place in enumerate(self._random.sample(range(len(pool)), len(pool))):
                names[f"{what} {number}"] = pool[place]
        return names

    def _request(self, steps: tuple[Step, ...]) -> str:
        requests = self._words.requests
        sentences = [
            self.pick(requests["further" if number else "first"]).format(step=self.sentence(step))
            for number, step in enumerate(steps)
        ]
        return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)

    def _change(self, change: Change | None) -> str:
        if change is None:
            return ""
        return self.pick(self._words.requests["change"]).format(step=self.sentence(change.step))

    def _with_text(self, text: Any, injections: tuple[Call, ...]) -> Any:
        """Return a mail or a file with what it says in words."""
        facts = dict(text.facts)
        told = [self.pick(self._words.texts[text.topic]).format(**facts)]
        if INSTRUCTION in facts:
            wanted = Step(*injections[int(facts[INSTRUCTION])])
            told.append(self.pick(self._words.instructions).format(step=self.sentence(wanted)))
        return text._replace(text=" ".join(told))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a structure with names in the place of placeholders."""
    if isinstance(value, str):
        return names.get(value, value) if "@" not in value else _address(value, names)
    if isinstance(value, tuple):
        parts = [_renamed(part, names) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _address(placeholder: str, names: Mapping[str, str]) -> str:
    """Return the address of a person at a company."""
    person, _, firm = placeholder.partition("@")
    first_last = names[person].lower().replace(" ", ".")
    return f"{first_last}@{names.get(firm, firm).lower().replace(' ', '')}.example"
