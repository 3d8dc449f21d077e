"""The wordings of requests, mails and files, and the names in them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.desk.requests import Ref, Step, Value, named_values

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

    Attributes:
        names: Names by the kind of thing.
        phrases: Phrases of references.
        steps: Sentences that ask for a step, by its tool.
        texts: Texts of mails and files, by topic.
        requests: Openings of the first and of later steps, and of a change.
        instructions: Sentences around an instruction that is not the user's.
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
    instructions = tuple(tables.pop("instructions")["frames"])
    frozen = {
        table: {name: tuple(words) for name, words in rows.items()}
        for table, rows in tables.items()
    }
    return Vocabulary(instructions=instructions, **frozen)


class Phrases:
    """Writes phrases and sentences."""

    def __init__(self, words: Vocabulary, stream: RandomStream | None) -> None:
        self.words, self._stream = words, stream

    def pick(self, wordings: tuple[str, ...]) -> str:
        """Return one of the wordings."""
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
