"""How well the reader of Twenty Questions understands questions that it was not built from.

    python benchmarks/reader_coverage.py            # --list names what is not understood rightly

The sets and their fields are described in
`tests/ragen_envs/games/twenty_questions/questions/`.
Of the held-out set only counts are printed, with `--list` too: whoever builds the reader must not
see which of its questions fail.
"""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragen_bench.statistics import wilson
from ragen_envs.games.twenty_questions import forms
from ragen_envs.games.twenty_questions.forms import Answer, Form, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.understanding import understand

FOLDER = Path(__file__).parents[1] / "tests/ragen_envs/games/twenty_questions/questions"
SETS = ("dev", "dev_2", "held_out")
UNSEEN = "held_out"
"""The set whose questions are not listed."""
HEAD = (
    "| set | have a form | understood | rightly, of these | rightly, of all "
    "| answered as expected, of the understood | without a form, refused |\n"
    "| --- | ---: | --- | --- | --- | --- | --- |"
)
_NAMES = {
    each: getattr(forms, each)
    for each in ("IsKind", "Has", "Compare", "Letter", "Length", "Guess", "Not", "And", "Either")
}


@dataclass(frozen=True)
class Coverage:
    """Counts of the questions of a set, by result.

    Attributes:
        right: questions with a form that were understood as it.
        misread: Questions that were understood as another one.
        unread: Questions that were not understood.
        refused: questions that have no honest answer, and were not understood.
        answered: Questions without a form that were answered nevertheless.
        misanswered: Questions of `right` and `misread` with another reply than expected.
    """

    right: tuple[str, ...]
    misread: tuple[str, ...]
    unread: tuple[str, ...]
    refused: tuple[str, ...]
    answered: tuple[str, ...]
    misanswered: tuple[str, ...]

    @property
    def askable(self) -> int:
        """How many questions have a form."""
        return len(self.right) + len(self.misread) + len(self.unread)

    @property
    def understood(self) -> int:
        """How many of them were understood, rightly or not."""
        return len(self.right) + len(self.misread)


@cache
def coverage(name: str) -> Coverage:
    """Return the counts of a set.

    Args:
        name: one of `SETS`.
    """
    knowledge = load()
    found: dict[str, list[str]] = {each: [] for each in Coverage.__dataclass_fields__}
    for entry in _entries(name):
        form = understand(entry["question"], knowledge)
        found[_class(form, entry["means"])].append(entry["question"])
        if form is not None and entry["means"] != "nothing":
            said = answer(form, knowledge.concepts[entry["word"]], knowledge)
            if said != entry["answer"]:
                found["misanswered"].append(entry["question"])
    return Coverage(**{each: tuple(questions) for each, questions in found.items()})


def _entries(name: str) -> list[dict[str, Any]]:
    """Return the questions of a set that the knowledge holds an answer to, or that have none."""
    sections = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")).values()
    return [entry for entries in sections for entry in entries if entry["means"] != "missing"]


def _class(form: Form | None, means: str) -> str:
    if means == "nothing":
        return "refused" if form is None else "answered"
    if form is None:
        return "unread"
    wanted = eval(means, {"__builtins__": {}}, _NAMES)
    return "right" if form == wanted or _answers(form) == _answers(wanted) else "misread"


@cache
def _answers(form: Form) -> tuple[Answer | None, ...]:
    """Return the answers for all words: two forms with the same ones mean the same."""
    knowledge = load()
    return tuple(answer(form, concept, knowledge) for concept in knowledge.concepts.values())


def row(name: str, found: Coverage) -> str:
    """Return a set's row of the table, with Wilson's intervals."""
    expected = found.understood - len(found.misanswered)
    without = len(found.refused) + len(found.answered)
    cells = [
        f"`{name}`",
        str(found.askable),
        _share(found.understood, found.askable),
        _share(len(found.right), found.understood),
        _share(len(found.right), found.askable),
        _share(expected, found.understood),
        f"{len(found.refused)} of {without}",
    ]
    return f"| {' | '.join(cells)} |"


def _share(count: int, of: int) -> str:
    low, high = (100 * bound for bound in wilson(count, of))
    return f"{count}: {100 * count / of:.1f} % [{low:.1f}, {high:.1f}]"


def _listed(name: str, found: Coverage) -> None:
    for kind in ("misread", "misanswered", "answered", "unread"):
        questions: tuple[str, ...] = getattr(found, kind)
        print(f"\n{name}, {kind}: {len(questions)}")
        if name != UNSEEN:
            print("".join(f"  {question}\n" for question in questions), end="")


def main() -> None:
    """Read the sets and print the table, and the questions behind it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--list", action="store_true", help="name the questions, those of the held-out set not"
    )
    given = parser.parse_args()
    found = {name: coverage(name) for name in SETS}
    print(HEAD)
    for name, each in found.items():
        print(row(name, each))
    if given.list:
        for name, each in found.items():
            _listed(name, each)


if __name__ == "__main__":
    main()
