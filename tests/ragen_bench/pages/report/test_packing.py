"""Packing: everything comes out as it went in, and nothing is held that need not be."""

import base64
import gzip
import json
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.report import html
from ragen_bench.pages.report.html import Pack
from ragen_bench.runs.checked import read_episode
from ragen_bench.runs.schema import Outcome

from .runs import FROZEN_LAKE, SOKOBAN, episode, turn

ENVS = [SOKOBAN, FROZEN_LAKE]
KEYS = st.lists(
    st.tuples(st.sampled_from(ENVS), st.integers(0, 30), st.integers(0, 3)), unique=True
)
OUTCOMES = st.sampled_from(get_args(Outcome))
ANSWERS = st.lists(st.text(st.characters()), min_size=1, max_size=3)


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text, validate=True)))


@given(data=st.data(), keys=KEYS, size=st.sampled_from((1, 3000, 1 << 18)))
def test_every_episode_comes_out_by_its_row(data, keys, size):
    episodes = [
        episode(index, sample, env, data.draw(ANSWERS), outcome=data.draw(OUTCOMES))
        for env, index, sample in keys
    ]
    labels = {f"{env}/{index}/{sample}": f"l{index % 3}" for env, index, sample in keys if sample}
    pack = Pack(map(read_episode, episodes), ENVS, labels)
    before, html.CHUNK_CHARACTERS = html.CHUNK_CHARACTERS, size
    try:
        chunks = [unpacked(chunk) for chunk in pack.chunks()]
    finally:
        html.CHUNK_CHARACTERS = before
    index = unpacked(pack.index())
    given = {(one["env"], one["index"], one["sample"]): one for one in episodes}
    found = []
    for env, number, sample, outcome, label, turns, gained, chunk, place in index["rows"]:
        key = index["envs"][env], int(number), sample
        record = chunks[chunk][place]
        assert record == {name: given[key][name] for name in record}
        assert record["turns"] == given[key]["turns"]
        assert index["outcomes"][outcome] == given[key]["outcome"]
        assert (turns, gained) == (len(given[key]["turns"]), given[key]["return"])
        wanted = labels.get(f"{key[0]}/{number}/{sample}")
        assert (index["labels"][label] if label >= 0 else None) == wanted
        found.append(key)
    assert found == sorted(given, key=lambda key: (ENVS.index(key[0]), *key[1:]))
    assert sum(map(len, chunks)) == len(episodes)
    assert all(len(chunk) == 1 for chunk in chunks) or size > 1


def test_chunks_leave_while_episodes_come():
    read = 0

    def source():
        nonlocal read
        for index in range(100):
            read += 1
            yield read_episode(episode(index, answers=["x" * 50_000]))

    chunks = Pack(source(), ENVS, {}).chunks()
    sizes = []
    for count, chunk in enumerate(chunks, start=1):
        sizes.append(len(unpacked(chunk)))
        # A chunk is closed when the first episode that it has no room for has come.
        assert read <= sum(sizes) + 1, count
    assert sum(sizes) == 100
    assert set(sizes[:-1]) == {5}  # of 50,000 characters and a little, in 2^18


def test_numbers_that_json_lacks_are_named():
    reply = {**turn("Yes"), "rule": [float("nan"), {"x": float("-inf")}, 1.5]}
    strange = episode(0, turns=[turn("Is it?", opponent=reply)])
    pack = Pack([read_episode(strange)], ENVS, {})
    ((record,),) = [unpacked(chunk) for chunk in pack.chunks()]
    assert record["turns"][0]["opponent"]["rule"] == ["nan", {"x": "-inf"}, 1.5]


def test_the_same_run_gives_the_same_bytes():
    def packed():
        pack = Pack([read_episode(episode(index)) for index in range(5)], ENVS, {})
        return [*pack.chunks(), pack.index()]

    assert packed() == packed()
    # Bytes 4 to 7 of a gzip file are its time (RFC 1952, section 2.3).
    assert all(base64.b64decode(text)[4:8] == bytes(4) for text in packed())
