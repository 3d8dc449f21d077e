"""Whatever reads a stranger's text costs no more than the text is long, times a constant."""

import contextlib
import gzip
import io
import json

import pytest

from ragen_bench.analysis.claims import claims_of, split_sentences
from ragen_bench.analysis.plans import read_plan
from ragen_bench.analysis.reasoning import claims_of_arithmetic, measure_diversity
from ragen_bench.environments import find_class
from ragen_bench.escaping import escape_csv_cell, link
from ragen_bench.leaderboard.files import PackedEpisodes
from ragen_bench.leaderboard.schema import parse_entry, read_statement
from ragen_bench.leaderboard.strict_json import BadJsonError, EntryError, parse
from ragen_bench.models import Completion
from ragen_bench.models.api.errors import RetryableError, describe_response, find_refused_settings
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.response import read_completion, read_models
from ragen_bench.models.reasoning import without_reasoning
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.suites import make_env
from ragen_envs.core.scene import Scene
from ragen_envs.core.tool_calls import CallError, parse_calls, thought_before
from ragen_envs.registration import IDS
from tests.growth import LINEAR, growth

REFUSED = (EntryError, BadJsonError, RetryableError, CallError)
PIECES = {
    "letters": "a",
    "marks": ".",
    "spaces": " ",
    "lines": "\n",
    "backslashes": "\\",
    "brackets": "[",
    "objects": '{"a":',
    "strings": '"a",',
    "tags": "<answer>",
    "open tags": "<think>",
    "closed tags": "</think>",
    "half tags": "<",
    "calls": "<tool_call>",
    "moves": "Up, then Down. ",
    "claims": "the box is left of the goal and I go up to (1, 2), ",
    "digits": "1",
    "options": "1 | (a) ; - ",
    "joined words": "it's-a/b_",
}
ME, BOX = frozenset({(3, 2)}), frozenset({(2, 2), (1, 4)})
SCENE = Scene({"me": ME, "box": BOX, "target": BOX, "wall": ME}, (1, 4, 1, 4), coordinates=True)


def a_reply(text):
    choices = [{"message": {"content": text, "reasoning": text}}]
    return json.dumps({"choices": choices, "data": [{"id": text}], "error": text})


READERS = {
    "sentences": lambda text: list(split_sentences(text)),
    "claims": lambda text: claims_of(text, SCENE),
    "sums": claims_of_arithmetic,
    "plans": lambda text: read_plan(text, ("Up", "Down", "Left", "Right"), 5),
    "diversity": lambda text: measure_diversity([text, text[1:]]),
    "reasoning": lambda text: without_reasoning(Completion(text), "think"),
    "calls": parse_calls,
    "thoughts before calls": thought_before,
    "strict JSON": lambda text: parse(text.encode()),
    "strict JSON of a text": lambda text: parse(json.dumps(text).encode()),
    "a statement": lambda text: read_statement(
        dict.fromkeys(("name", "submitter", "contact", "link", "date"), text)
        | {"parameters": None, "open_weights": None}
    ),
    "an entry": lambda text: parse_entry({text: text, "name": text}),
    "lines of episodes": lambda text: list(_unpacked(text)),
    "a reply": lambda text: read_completion(a_reply(text), "</answer>"),
    "a reply that is none": lambda text: read_completion(text, "</answer>"),
    "a list of models": lambda text: read_models(a_reply(text)),
    "words of a server": lambda text: describe_response(400, {"message": text}, ServerKey("")),
    "refused settings": lambda text: find_refused_settings(f"unsupported {text}"),
    "a link": link,
    "a cell": escape_csv_cell,
    "a difference": lambda text: first_difference([text, text], [text, f"{text}."]),
    "a value in brief": brief,
}


def _unpacked(text):
    packed = bytearray(gzip.compress(f"{text}\n".encode(), 1, mtime=0))
    packed[8] = 0
    return PackedEpisodes(io.BytesIO(packed), 1 << 30).lines()


def long(piece):
    """Return what makes a text of a length, with an end that runs of the piece do not expect."""
    return lambda length: (piece * (length // len(piece) + 1))[:length] + "~"


def reading(reader):
    def read(text):
        with contextlib.suppress(*REFUSED):
            reader(text)

    return read


@pytest.mark.parametrize("name", READERS)
def test_the_cost_of_reading_grows_with_the_text(name):
    for piece in PIECES.values():
        assert growth(reading(READERS[name]), long(piece)) < LINEAR, piece


@pytest.mark.parametrize("form", ["think", "tools"])
@pytest.mark.parametrize("name", {find_class(name): name for name in IDS}.values())
def test_the_cost_of_an_answer_grows_with_it(name, form):
    env = make_env(name, "val", form)
    env.reset(seed=0)
    before = {"think": "<think></think><answer>", "tools": '<tool_call>{"name": "'}[form]
    after = {"think": "</answer>", "tools": '"}</tool_call>'}[form]
    for piece in PIECES.values():
        cost = growth(lambda text: env.read(before + text + after), long(piece))
        assert cost < LINEAR, piece
