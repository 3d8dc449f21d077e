import hashlib
import random
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragen_envs.core.instances import (
    HELD_OUT_SIZE,
    SPLITS,
    RandomStream,
    content_hash,
    draw,
    held_out,
    partition_of,
)
from tests.ragen_envs.support import chi_square

labels = st.lists(st.text(max_size=8) | st.integers(), max_size=4)


def shake(*texts):
    message = "".join(f"{len(text)}:{text}" for text in texts).encode()
    return hashlib.shake_128(message)


@given(labels, st.integers(1, 100))
@example(["four blocks"], 21 + 84 + 336 + 1)
def test_words_are_those_of_shake_128_over_the_labels(given_labels, count):
    stream = RandomStream(*given_labels)
    raw = shake(*map(str, given_labels)).digest(8 * count)
    expected = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, 8 * count, 8)]
    assert [stream.word() for _ in range(count)] == expected


@given(st.lists(st.tuples(st.sampled_from(["words", "rolls"]), st.integers(0, 60)), max_size=8))
def test_many_at_once_are_as_many_one_by_one(calls):
    stream, single = RandomStream("many"), RandomStream("many")
    for call, count in calls:
        if call == "words":
            assert stream.words(count) == [single.word() for _ in range(count)]
        else:
            assert stream.rolls(7, count) == [single.below(7) for _ in range(count)]
    assert stream.word() == single.word()


def test_the_first_words_are_pinned():
    # Another number on another platform or Python would mean other levels there.
    stream = RandomStream("instance", "Sokoban-v0", "train", 0)
    assert [stream.word(), stream.word()] == [7879930542171510924, 12517314100622512290]


@given(labels, labels)
def test_different_labels_give_different_streams(first, second):
    same = [str(x) for x in first] == [str(x) for x in second]
    assert (RandomStream(*first).word() == RandomStream(*second).word()) == same


def test_labels_do_not_run_together():
    words = {
        RandomStream(*x).word() for x in (("ab", "c"), ("a", "bc"), ("abc",), ("1:a", "bc"), ())
    }
    assert len(words) == 5


@given(st.integers(1, 1 << 32), st.integers(0, 1000))
def test_below_stays_below_and_scales_the_word(bound, seed):
    value = RandomStream(seed).below(bound)
    assert 0 <= value < bound
    assert value == RandomStream(seed).word() * bound // 2**64


@pytest.mark.parametrize("bound", [0, -1, (1 << 32) + 1])
def test_below_refuses_other_bounds(bound):
    with pytest.raises(ValueError, match=f"between 1 and 2\\*\\*32, got {bound}"):
        RandomStream(0).below(bound)


def test_the_largest_bound_is_taken():
    assert RandomStream(0).below(1 << 32) == RandomStream(0).word() >> 32


def test_below_is_uniform():
    stream = RandomStream("uniform")
    counts = [0] * 20
    for _ in range(20_000):
        counts[stream.below(20)] += 1
    assert chi_square(counts, [1] * 20) < 50  # 19 degrees of freedom: one in 8,000


@given(st.lists(st.integers(), unique=True, max_size=12), st.integers(0, 12), st.integers(0, 99))
def test_a_sample_has_different_members(population, count, seed):
    if count > len(population):
        with pytest.raises(ValueError, match=f"cannot sample {count} of {len(population)}"):
            RandomStream(seed).sample(population, count)
        return
    chosen = RandomStream(seed).sample(population, count)
    assert len(chosen) == len(set(chosen)) == count
    assert set(chosen) <= set(population)


def test_samples_are_uniform_over_ordered_choices():
    stream = RandomStream("sample")
    counts = dict.fromkeys([(a, b) for a in range(4) for b in range(4) if a != b], 0)
    for _ in range(12_000):
        counts[tuple(stream.sample(range(4), 2))] += 1
    assert chi_square(list(counts.values()), [1] * 12) < 40  # 11 degrees: one in 28,000


def test_streams_touch_no_global_generator():
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    stream = RandomStream("a", 1)
    values = [stream.word(), stream.below(10), stream.sample(range(9), 3)]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(2)
    np.random.seed(2)
    stream = RandomStream("a", 1)
    assert [stream.word(), stream.below(10), stream.sample(range(9), 3)] == values


def test_content_hash_is_16_digits_of_sha256():
    assert content_hash("game", b"x") == hashlib.sha256(b"game\0x").hexdigest()[:16]
    assert content_hash("game", b"x") != content_hash("other", b"x")


def test_one_part_in_sixteen_each_is_val_test_and_sealed():
    parts = [partition_of(f"{digit:x}" + "0" * 15) for digit in range(16)]
    assert parts == ["val", "test", "sealed"] + ["train"] * 13
    larger = [partition_of(f"{digit:x}", sixteenths=3) for digit in range(16)]
    assert larger == ["val"] * 3 + ["test"] * 3 + ["sealed"] * 3 + ["train"] * 7


@dataclass(frozen=True)
class Toy:
    digest: str
    part: str


def toys(parts):
    return lambda stream: iter([part and Toy(str(i), part) for i, part in enumerate(parts)])


@given(st.lists(st.sampled_from([None, "train", "val", "test", "sealed", "none"]), max_size=20))
def test_draw_takes_the_first_of_the_split(parts):
    for split in SPLITS:
        if split in parts:
            assert draw(toys(parts), RandomStream(0), split) == Toy(str(parts.index(split)), split)
        else:
            with pytest.raises(RuntimeError, match=f"no {split} instance"):
                draw(toys(parts), RandomStream(0), split)


def test_draw_gives_up_after_4096_candidates():
    looked_at = []

    def endless(stream):
        while True:
            looked_at.append(1)
            yield None

    with pytest.raises(RuntimeError, match="no val instance among the first 4096 candidates"):
        draw(endless, RandomStream(0), "val")
    assert len(looked_at) == 4096


def numbered(size):
    def candidates(stream):
        while True:
            yield Toy(str(stream.below(size)), "val")

    return candidates


def test_held_out_skips_what_is_taken_and_notes_what_it_takes():
    taken = {str(i) for i in range(0, 1000, 2)}
    chosen = [toy.digest for toy in held_out(numbered(1000), "Toy-v0", "val", taken)]
    assert len(chosen) == len(set(chosen)) == HELD_OUT_SIZE == 256
    assert all(int(digest) % 2 for digest in chosen)
    assert len(taken) == 500 + 256
    again = held_out(numbered(1000), "Toy-v0", "val", {str(i) for i in range(0, 1000, 2)})
    assert [toy.digest for toy in again] == chosen
    other = held_out(numbered(1000), "Other-v0", "val", set())
    assert [toy.digest for toy in other] != chosen


def test_a_secret_decides_the_instances_further():
    without, first, again, second = (
        [toy.digest for toy in held_out(numbered(1000), "Toy-v0", "val", set(), secret, 8)]
        for secret in ("", "a", "a", "b")
    )
    assert first == again
    assert len({*map(tuple, (without, first, second))}) == 3


def test_held_out_takes_as_many_as_there_are():
    every = held_out(numbered(100), "Toy-v0", "val", set(), size=100)
    assert sorted(int(toy.digest) for toy in every) == list(range(100))
    assert held_out(numbered(100), "Toy-v0", "val", set(), size=7) == every[:7]


def test_held_out_says_when_a_game_is_too_small():
    with pytest.raises(RuntimeError, match="Toy-v0 has too few different val instances: 100 found"):
        held_out(numbered(100), "Toy-v0", "val", set())


def test_an_instance_is_a_function_of_its_attempt_alone():
    seen = []

    def candidates(stream):
        seen.append(next(islice(numbered(1000)(stream), 1)).digest)
        return numbered(1000)(stream)

    held_out(candidates, "Toy-v0", "val", set())
    streams = [RandomStream("instance", "Toy-v0", "val", i) for i in range(len(seen))]
    assert seen == [str(stream.below(1000)) for stream in streams]
