"""Comparisons: each frame of comparisons.toml is read, with all that may be left out of it."""

from operator import eq, ge, gt, le, lt

import pytest

from ragen_envs.games.twenty_questions.forms import Compare, Not
from ragen_envs.games.twenty_questions.understanding.comparisons import read_comparison
from ragen_envs.games.twenty_questions.understanding.lexicon import lexicon
from ragen_envs.games.twenty_questions.understanding.tokens import SLOT, data_file, expand
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, answers, read

TABLE = data_file("comparisons.toml")
FRAMES = [
    (scale, relation, frame)
    for scale, relations in TABLE["frames"].items()
    for relation, frames in relations.items()
    for frame in frames
]
LEXICON = lexicon(KNOWLEDGE)
GOAT = KNOWLEDGE.concepts["goat"].levels["size"][0]


def written_out(frame):
    """Replace the names of parts one by one, the longest first: BIG is the beginning of BIGGER."""
    for name in sorted(TABLE["parts"], key=len, reverse=True):
        frame = frame.replace(name, TABLE["parts"][name])
    return expand(frame)


@pytest.mark.parametrize(("scale", "relation", "frame"), FRAMES)
def test_a_frame_is_read(scale, relation, frame):
    form = Compare(scale, relation.removeprefix("!"), "goat")
    wanted = Not(form) if relation.startswith("!") else form
    for tokens in written_out(frame):
        at = tokens.index(SLOT)
        question = (*tokens[:at], "a", "goat", *tokens[at + 1 :])
        assert read_comparison(question, LEXICON) == wanted, question


@pytest.mark.parametrize(
    ("question", "compare"),
    [
        ("Is it bigger than a goat?", gt),
        ("Is it smaller than a goat?", lt),
        ("Is it about the size of a goat?", eq),
        ("Is it no bigger than a goat?", le),
        ("Would it fit into a goat?", le),
        ("Is it at least as large as a goat?", ge),
    ],
)
def test_sizes_on_other_levels_are_compared_as_numbers_are(question, compare):
    found = zip(KNOWLEDGE.concepts.values(), answers(read(question)), strict=True)
    for concept, answer in found:
        low, high = concept.levels["size"]
        if low == high != GOAT:
            assert answer == ("Yes" if compare(low, GOAT) else "No"), concept.name
