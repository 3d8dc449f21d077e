"""What the game makes of twenty batches of questions that its writer asked as a crowd.

Each batch was written before the reader was run on it, and the reader was then built from it: the
figures are a record of what has been learned, not an estimate. The page has what was understood of
each batch at first sight.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ragen_envs.games.twenty_questions.forms import answer
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, read

FILE = Path(__file__).parents[1] / "questions/crowd.txt"
# Of each batch: questions, of them understood; sure answers, of them not told, and told otherwise.
COUNTS = {
    "batch 1": (324, 320, 1198, 43, 0),
    "batch 2": (272, 264, 977, 69, 0),
    "batch 3": (215, 202, 514, 21, 1),
    "batch 4": (218, 211, 523, 32, 0),
    "batch 5": (173, 166, 361, 21, 0),
    "batch 6": (149, 138, 376, 41, 0),
    "batch 7": (142, 128, 386, 27, 1),
    "batch 8": (149, 149, 291, 5, 0),
    "batch 9": (151, 135, 254, 21, 0),
    "batch 10": (151, 145, 386, 47, 0),
    "batch 11": (157, 146, 325, 18, 0),
    "batch 12": (142, 130, 281, 22, 1),
    "batch 13": (126, 120, 328, 37, 0),
    "batch 14": (147, 129, 299, 67, 0),
    "batch 15": (105, 90, 236, 32, 1),
    "batch 16": (102, 86, 183, 46, 1),
    "batch 17": (111, 97, 208, 29, 1),
    "batch 18": (137, 126, 356, 28, 0),
    "batch 19": (109, 100, 276, 29, 0),
    "batch 20": (94, 83, 223, 49, 0),
}


class Line(NamedTuple):
    question: str
    sure: dict[str, str]


@cache
def batches():
    found = {}
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            lines = found[line.removeprefix("## ")] = []
        elif line and not line.startswith("#"):
            question, yes, no = (part.strip() for part in f"{line} ".split("|"))
            labels = {"Yes": yes, "No": no}
            words = {w: label for label, each in labels.items() for w in each.split(", ") if w}
            lines.append(Line(question, words))
    return found


def replies(line):
    form = read(line.question)
    return [
        (answer(form, KNOWLEDGE.concepts[word], KNOWLEDGE) if form else None, label)
        for word, label in line.sure.items()
    ]


@pytest.mark.parametrize("batch", batches())
def test_what_becomes_of_a_batch(batch):
    lines = batches()[batch]
    sure = [pair for line in lines for pair in replies(line)]
    otherwise = [pair for pair in sure if set(pair) == {"Yes", "No"}]
    counts = (
        len(lines),
        sum(read(line.question) is not None for line in lines),
        len(sure),
        sum(reply is None for reply, _ in sure),
        len(otherwise),
    )
    assert counts == COUNTS[batch]


def test_the_words_are_those_of_the_game():
    words = {word for lines in batches().values() for line in lines for word in line.sure}
    assert words <= KNOWLEDGE.concepts.keys()
    assert sum(map(len, batches().values())) == 3174
