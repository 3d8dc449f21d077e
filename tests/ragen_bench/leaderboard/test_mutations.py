"""Whatever single thing is changed in an entry, it is caught, or it is one that is listed here."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.leaderboard import verify
from ragen_bench.runs.json_lines import to_line
from tests.cases import examples
from tests.ragen_bench.leaderboard.entries import (
    entry_json,
    records,
    write_entry,
    write_lines,
)
from tests.ragen_bench.mutations import OTHERS, places, put

BELIEVED = {
    "name",
    "submitter",
    "contact",
    "link",
    "parameters",
    "open_weights",
    "date",
    "ragen_version",
    "run.model_identity",
    "run.slots",
    "run.group_size",
    "run.temperature",
    "run.constrained",
    "run.versions",
    "run.machine",
    "run.command",
    "summary.cost",
    "summary.envs.seconds",
}
"""What only the submitter can know; docs/submit.md says so."""


@pytest.fixture(scope="module")
def copied(honest, tmp_path_factory):
    path = tmp_path_factory.mktemp("mutated") / "entry"
    shutil.copytree(honest, path)
    return path


def nearby(old):
    """Return a value of the same kind that is a little different."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int | float):
        return old + 1
    return old + "." if isinstance(old, str) else None


@pytest.mark.slow
@settings(max_examples=examples(90), deadline=None)
@given(data=st.data())
def test_a_changed_field_of_an_episode(honest, copied, data):
    found = records(honest)
    number = data.draw(st.integers(0, 7), label="episode")
    path = data.draw(st.sampled_from(list(places(found[number]))), label="path")
    new = data.draw(OTHERS | st.just(nearby), label="value")
    changed, different = put(found[number], path, new)
    write_entry(copied, entry_json(honest))
    write_lines(copied, [to_line(r) for r in [*found[:number], changed, *found[number + 1 :]]])
    if verify(copied).verified and different:
        # Other words that lead to the same actions: the model might have said them.
        assert path[-1] == "answer"


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_changed_byte_of_an_episode(honest, copied, data):
    lines = [to_line(record) for record in records(honest)]
    number = data.draw(st.integers(0, 7), label="episode")
    place = data.draw(st.integers(0, len(lines[number]) - 1), label="place")
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != lines[number][place]))
    changed = lines[number][:place] + bytes([byte]) + lines[number][place + 1 :]
    write_entry(copied, entry_json(honest))
    write_lines(copied, [*lines[:number], changed, *lines[number + 1 :]])
    if verify(copied).verified:
        turns = json.loads(changed)["turns"], json.loads(lines[number])["turns"]
        for turn, other in zip(*turns, strict=True):
            turn.pop("answer")
            assert turn == {name: other[name] for name in turn}


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_changed_byte_of_the_packed_file(honest, copied, data):
    write_entry(copied, entry_json(honest))
    packed = (honest / "episodes.jsonl.gz").read_bytes()
    place = data.draw(st.integers(0, len(packed) - 1), label="place")
    bit = data.draw(st.integers(0, 7), label="bit")
    changed = bytearray(packed)
    changed[place] ^= 1 << bit
    (copied / "episodes.jsonl.gz").write_bytes(changed)
    # The header's remarks on compressor and system are the only bytes that say nothing.
    assert verify(copied).verified == (place in (8, 9))


@settings(max_examples=examples(90), deadline=None)
@given(data=st.data())
def test_a_changed_field_of_the_entry(honest, copied, data):
    entry = entry_json(honest)
    path = data.draw(st.sampled_from(list(places(entry))), label="path")
    new = data.draw(OTHERS | st.just(nearby), label="value")
    changed, different = put(entry, path, new)
    write_entry(copied, changed)
    (copied / "episodes.jsonl.gz").write_bytes((honest / "episodes.jsonl.gz").read_bytes())
    if verify(copied).verified and different:
        name = ".".join(key for key in path if isinstance(key, str))
        assert any(name == one or name.startswith(f"{one}.") for one in BELIEVED), name


def test_the_docs_name_what_is_believed():
    text = (Path(__file__).parents[3] / "docs/submit.md").read_text(encoding="utf-8")
    section = text.partition("## What it cannot catch")[2].partition("## Reproduce")[0]
    for name in BELIEVED:
        assert f"`{name.rpartition('.')[2]}`" in section, name
