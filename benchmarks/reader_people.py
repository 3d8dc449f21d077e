"""Measures how well the reader of Twenty Questions understands people's and models' questions.

    python benchmarks/reader_people.py            # --list prints the errors of the working part

The questions are next to the checkout, in `../shared/data/twenty_questions/`, whose README states
their sources: crowd workers' games (`ai2`), a questionnaire (`cmu`), three language models.
Labels are answers of which people, or the answering model, are sure.

The reader was developed on the working part alone. The held-out part is measured, never listed.
`held_out_writers` is the rule of the split, written before that part was first measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.statistics import clustered_bootstrap, wilson
from ragen_envs.games.twenty_questions.forms import And, Answer, Either, Form, Narrowed, Not, answer
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
class Question:
    """A question and the reader's result.

    Attributes:
        writer: The set, or the model that asked.
        hand: Group that is not split: a subject of the crowd workers' games, mostly one game and
            so one writer; a question of the questionnaire, which has one writer; a model.
        question: The text.
        word: The word to guess; None if the game lacks it.
        label: "Yes" or "No" if people are sure, else None.
        understood: True if it has a form.
        in_part: True if a part is not understood, so that the reply is No or none.
        reply: The game's reply; None if it is unsure or has no word.
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
        """Agreement of the reply with the label; 0.5 for Sometimes."""
        return 0.5 if self.reply == "Sometimes" else float(self.reply == self.label)

    @property
    def contradicts(self) -> bool:
        """Whether the reply is the opposite of the label."""
        return self.reply not in (self.label, "Sometimes")


def held_out_writers(writers: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the held-out pairs of writer and hand.

    In each set (all models form one), hands are sorted by the SHA-256 of "set:hand". The first
    half, rounded down, is held out.

    Args:
        writers: All pairs of writer and hand.
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


def read_questions() -> tuple[Question, ...]:
    """Return all questions about everyday things, with their results."""
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
            found.append(Question(writer, hand, row["q"], word, row.get("label"), *read, reply))
    return tuple(found)


def _says_more(form: Form) -> bool:
    match form:
        case Not(inner):
            return _says_more(inner)
        case And(forms) | Either(forms):
            return any(map(_says_more, forms))
        case _:
            return isinstance(form, Narrowed)


def rows(questions: Sequence[Question]) -> list[str]:
    """Return the rows of the table: each part, by writer and in all."""
    held_out = held_out_writers((each.writer, each.hand) for each in questions)
    lines = []
    for part, wanted in (("working", False), ("kept apart", True)):
        of_part = [each for each in questions if ((each.writer, each.hand) in held_out) == wanted]
        for writer in dict.fromkeys(each.writer for each in of_part):
            lines.append(_row(part, writer, [e for e in of_part if e.writer == writer]))
        lines.append(_row(part, "all", of_part))
    return lines


def _row(part: str, writer: str, questions: Sequence[Question]) -> str:
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
        _fraction(sum(once.values()), len(once)),
        str(len({each.question for each in questions if each.in_part})),
        _fraction(sum(unsure), len(unsure)),
        _agreed(yes),
        _agreed(no),
        agreement,
        _fraction(sum(contradicted), len(contradicted)),
    ]
    return f"| {' | '.join(cells)} |"


def _mean(questions: Sequence[Question]) -> float:
    return sum(each.agrees for each in questions) / len(questions)


def _fraction(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = (100 * bound for bound in wilson(count, of))
    return f"{count} of {of}: {100 * count / of:.1f} % [{low:.1f}, {high:.1f}]"


def _agreed(questions: Sequence[Question]) -> str:
    """Return the agreement with an interval that resamples questions, each with all its words."""
    if not questions:
        return "-"
    clusters: dict[str, list[float]] = {}
    for each in questions:
        clusters.setdefault(each.question, []).append(each.agrees)
    low, high = (100 * bound for bound in clustered_bootstrap(list(clusters.values())))
    return f"{len(questions)}: {100 * _mean(questions):.1f} % [{low:.1f}, {high:.1f}]"


def _listed(questions: Sequence[Question]) -> Iterable[str]:
    """Yield the questions of the working part that were not understood or contradict people."""
    held_out = held_out_writers((each.writer, each.hand) for each in questions)
    working = [each for each in questions if (each.writer, each.hand) not in held_out]
    for each in working:
        what = f"{each.writer}: {each.question} [{each.word}, {each.label}]"
        if not each.understood:
            yield f"not understood: {what}"
        elif each.label and each.word and each.reply is None:
            yield f"unsure: {what}"
        elif each.label and each.reply and each.reply != each.label:
            yield f"{each.reply}: {what}"


def main() -> None:
    """Print the table, and with --list the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="print the errors of the working part")
    given = parser.parse_args()
    if not FILE.is_file():
        parser.error(f"{FILE} is missing; put the questions there")
    questions = read_questions()
    print(HEAD)
    print("\n".join(rows(questions)))
    if given.list:
        print("\n".join(dict.fromkeys(_listed(questions))))


if __name__ == "__main__":
    main()
