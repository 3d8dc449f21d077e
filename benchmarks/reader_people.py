"""How well the reader of Twenty Questions understands what people and other models ask.

    python benchmarks/reader_people.py            # --list names what of the working part went wrong

The questions lie beside the checkout, in `../shared/data/twenty_questions/`, whose README says
where they are from: crowd workers' games (`ai2`), a questionnaire (`cmu`), three language models.
Labels are what people, or the model that answered, are sure of.

The reader is built from the working part alone. The part kept apart is measured, never listed:
`apart` is the rule, which was written before the first figure of that part was seen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.statistics import clustered_bootstrap, wilson
from ragen_envs.games.twenty_questions.answerer.rule import Answer, answer
from ragen_envs.games.twenty_questions.forms import And, Either, Form, Narrowed, Not
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.understanding import understand

FILE = Path(__file__).parents[2] / "shared/data/twenty_questions/people_dev.jsonl"
PAGE = Path(__file__).parents[1] / "docs/results/twenty-questions.md"
HEAD = (
    "| part | writer | understood | in part | unsure | their Yes | their No | agreement "
    "| contradicted |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Asked:
    """A question as somebody asked it, and what became of it.

    Attributes:
        writer: the set, or the model that asked.
        hand: whose questions go into one part: a subject of the crowd workers' games, which is
            mostly one game's and so one writer's; a question of the questionnaire, which has one
            writer; a model.
        question: the text.
        word: what it was asked of, None where the game has no such word.
        label: "Yes" or "No" where people are sure, or None.
        understood: whether it has a form.
        in_part: whether it says more than is understood, so that it is answered No or not at all.
        reply: the game's, None where it is unsure or there is no word.
    """

    writer: str
    hand: str
    question: str
    word: str | None
    label: str | None
    understood: bool
    in_part: bool
    reply: Answer | None

    @property
    def agrees(self) -> float:
        """How far the reply agrees with the label, Sometimes by half."""
        return 0.5 if self.reply == "Sometimes" else float(self.reply == self.label)

    @property
    def contradicts(self) -> bool:
        """Whether the reply is the opposite of the label."""
        return self.reply not in (self.label, "Sometimes")


def apart(writers: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the writers and hands that are kept apart.

    Of each set, models being one, the hands are put in the order of the SHA-256 of "set:hand"; the
    first half of them, rounded down, is kept apart.

    Args:
        writers: all pairs of a writer and a hand.
    """
    kept: set[tuple[str, str]] = set()
    known = set(writers)
    for name in ("ai2", "cmu", "models"):
        hands = sorted(
            (pair for pair in known if _set(pair[0]) == name),
            key=lambda pair: hashlib.sha256(f"{name}:{pair[1]}".encode()).hexdigest(),
        )
        kept.update(hands[: len(hands) // 2])
    return frozenset(kept)


def _set(writer: str) -> str:
    return writer if writer in ("ai2", "cmu") else "models"


def asked() -> tuple[Asked, ...]:
    """Return all questions about everyday things, with what becomes of them."""
    knowledge = load()
    found = []
    with FILE.open(encoding="utf-8") as lines:
        next(lines)
        for row in map(json.loads, lines):
            if not row.get("askable", True):
                continue
            hand = {"ai2": row.get("subject"), "cmu": row["q"], "models": row.get("by")}[row["set"]]
            word = row.get("word")
            form = understand(row["q"], knowledge)
            known = form is not None and word in knowledge.concepts
            reply = answer(form, knowledge.concepts[word], knowledge) if form and known else None
            writer = row.get("by", row["set"])
            read = form is not None, form is not None and _says_more(form)
            found.append(Asked(writer, hand, row["q"], word, row.get("label"), *read, reply))
    return tuple(found)


def _says_more(form: Form) -> bool:
    match form:
        case Not(inner):
            return _says_more(inner)
        case And(forms) | Either(forms):
            return any(map(_says_more, forms))
        case _:
            return isinstance(form, Narrowed)


def rows(questions: Sequence[Asked]) -> list[str]:
    """Return the rows of the table: each part, by writer and in all."""
    kept = apart((each.writer, each.hand) for each in questions)
    lines = []
    for part, wanted in (("working", False), ("kept apart", True)):
        of_part = [each for each in questions if ((each.writer, each.hand) in kept) == wanted]
        for writer in dict.fromkeys(each.writer for each in of_part):
            lines.append(_row(part, writer, [e for e in of_part if e.writer == writer]))
        lines.append(_row(part, "all", of_part))
    return lines


def _row(part: str, writer: str, questions: Sequence[Asked]) -> str:
    once = {each.question: each.understood for each in questions}
    of_words = [each for each in questions if each.word]
    unsure = [each.reply is None for each in of_words]
    sure = [each for each in of_words if each.label and each.reply]
    yes, no = ([each for each in sure if each.label == label] for label in ("Yes", "No"))
    agreement = "-" if not (yes and no) else f"{50 * (_mean(yes) + _mean(no)):.1f} %"
    contradicted = [each.contradicts for each in sure]
    cells = [
        part,
        writer,
        _share(sum(once.values()), len(once)),
        str(len({each.question for each in questions if each.in_part})),
        _share(sum(unsure), len(unsure)),
        _agreed(yes),
        _agreed(no),
        agreement,
        _share(sum(contradicted), len(contradicted)),
    ]
    return f"| {' | '.join(cells)} |"


def _mean(questions: Sequence[Asked]) -> float:
    return sum(each.agrees for each in questions) / len(questions)


def _share(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = (100 * bound for bound in wilson(count, of))
    return f"{count} of {of}: {100 * count / of:.1f} % [{low:.1f}, {high:.1f}]"


def _agreed(questions: Sequence[Asked]) -> str:
    """Return the agreement with an interval that resamples questions, each with all its words."""
    if not questions:
        return "-"
    clusters: dict[str, list[float]] = {}
    for each in questions:
        clusters.setdefault(each.question, []).append(each.agrees)
    low, high = (100 * bound for bound in clustered_bootstrap(list(clusters.values())))
    return f"{len(questions)}: {100 * _mean(questions):.1f} % [{low:.1f}, {high:.1f}]"


def _listed(questions: Sequence[Asked]) -> Iterable[str]:
    """Yield the questions of the working part that were not understood or contradict people."""
    kept = apart((each.writer, each.hand) for each in questions)
    working = [each for each in questions if (each.writer, each.hand) not in kept]
    for each in working:
        what = f"{each.writer}: {each.question} [{each.word}, {each.label}]"
        if not each.understood:
            yield f"not understood: {what}"
        elif each.label and each.word and each.reply is None:
            yield f"unsure: {what}"
        elif each.label and each.reply and each.reply != each.label:
            yield f"{each.reply}: {what}"


def main() -> None:
    """Print the table, and the questions behind it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="name questions of the working part")
    given = parser.parse_args()
    if not FILE.is_file():
        parser.error(f"the questions are not there; they belong in {FILE}")
    questions = asked()
    print(HEAD)
    print("\n".join(rows(questions)))
    if given.list:
        print("\n".join(dict.fromkeys(_listed(questions))))


if __name__ == "__main__":
    main()
