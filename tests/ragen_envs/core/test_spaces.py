"""`SharedText`, and `AsyncVectorEnv` with real processes on top of it."""

import copy
import multiprocessing
import pickle
import string

import gymnasium
import pytest
from gymnasium.spaces import Dict, Text
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.spaces import SharedText, TextView
from tests.ragen_envs.core.test_vector import assert_same

SPACE = SharedText(12, min_length=0, charset=string.printable)
MEMORY = create_shared_memory(SPACE, n=3)
"""Made once: each memory is a file of its own for the life of the process."""

texts = st.text(st.characters(exclude_categories=()), max_size=12)


@given(st.lists(st.tuples(st.integers(0, 2), texts), max_size=12))
def test_what_is_read_is_what_was_written_last(writes):
    expected = ["", "x" * 12, "\0\ud800"]
    for i, text in enumerate(expected):
        write_to_shared_memory(SPACE, i, text, MEMORY)
    view = read_from_shared_memory(SPACE, MEMORY, n=3)
    for i, text in writes:
        write_to_shared_memory(SPACE, i, text, MEMORY)
        expected[i] = text
        assert list(view) == list(read_from_shared_memory(SPACE, MEMORY, n=3)) == expected
        assert copy.deepcopy(view) == copy.copy(view) == view[:] == tuple(expected)
        assert type(copy.deepcopy(view)) is tuple


def test_a_view_shows_the_present_and_a_copy_the_past():
    write_to_shared_memory(SPACE, 1, "before", MEMORY)
    view = read_from_shared_memory(SPACE, MEMORY, n=3)
    past = copy.deepcopy(view)
    write_to_shared_memory(SPACE, 1, "now", MEMORY)
    assert (view[1], past[1]) == ("now", "before")
    assert view[-2] == "now"
    assert view[1:2] == ("now",)
    assert len(view) == 3
    assert repr(view) == f"TextView{view[:]!r}"
    with pytest.raises(IndexError):
        view[3]


def test_a_text_that_is_too_long_is_an_error_and_changes_nothing():
    write_to_shared_memory(SPACE, 0, "short", MEMORY)
    with pytest.raises(
        ValueError, match=r"environment 0 returned a text of 13 .* holds 12 at most"
    ):
        write_to_shared_memory(SPACE, 0, "x" * 13, MEMORY)
    assert read_from_shared_memory(SPACE, MEMORY, n=3)[0] == "short"


def test_it_goes_into_other_spaces():
    space = Dict({"text": SPACE, "more": SharedText(3)})
    memory = create_shared_memory(space, n=2)
    view = read_from_shared_memory(space, memory, n=2)
    write_to_shared_memory(space, 1, {"text": "Up", "more": "abc"}, memory)
    assert copy.deepcopy(view) == {"text": ("", "Up"), "more": ("", "abc")}


def test_it_is_a_text_space_like_any_other():
    plain = Text(12, min_length=0, charset=string.printable)
    assert plain == SPACE
    assert SharedText(12, charset="ab") != SharedText(13, charset="ab")
    assert SharedText(12, charset="ab") != SharedText(12, charset="abc")
    for twin in (copy.deepcopy(SPACE), pickle.loads(pickle.dumps(SPACE))):
        assert type(twin) is SharedText
        assert twin == SPACE
    seeded, expected = SharedText(12, seed=3), Text(12, seed=3)
    assert [seeded.sample() for _ in range(5)] == [expected.sample() for _ in range(5)]
    assert repr(SharedText(3, charset="ba")) == "SharedText(1, 3, charset=ab)"
    assert batch_space(SPACE, 2) == batch_space(plain, 2)


def test_spaces_that_differ_can_be_batched():
    batched = batch_differing_spaces([SPACE, SharedText(5, charset="ab")])
    assert ("", "ab") in batched
    assert ("ab", "") not in batched


def episodes(env, mode, turns=12):
    """Play so that each environment ends some episodes; return all that came back."""
    told = [env.reset(seed=[5, 0, 9])]
    told.append(env.reset(seed=3, options={"noise_seed": 1}))
    for turn in range(turns):
        answers = ["Up || Left || Blue", "no", "Down"][turn % 3 :] + ["Right || Up"] * (turn % 3)
        told.append(env.step(answers))
        over = told[-1][2] | told[-1][3]
        if mode is AutoresetMode.DISABLED and over.any():
            told.append(env.reset(seed=turn, options={"reset_mask": over}))
    return tuple(told)


@pytest.mark.parametrize(
    ("id_", "mode", "kwargs"),
    [
        ("ragen/Sokoban-v0", AutoresetMode.NEXT_STEP, {}),
        ("ragen/FrozenLakeCoord-v0", AutoresetMode.SAME_STEP, {}),
        ("ragen/Bandit-v0", AutoresetMode.DISABLED, {}),
        ("ragen/FrozenLake-v0", AutoresetMode.NEXT_STEP, {"context": "spawn"}),
        ("ragen/BanditMultiPull-v0", AutoresetMode.NEXT_STEP, {"shared_memory": False}),
    ],
)
def test_async_does_what_sync_does(id_, mode, kwargs):
    def vector(how, **more):
        return gymnasium.make_vec(
            id_,
            num_envs=3,
            vectorization_mode=how,
            vector_kwargs={"autoreset_mode": mode, **more},
            split="val",
            response_format="plain",
        )

    env = vector("async", **kwargs)
    try:
        told = episodes(env, mode)
    finally:
        env.close()
    assert_same(told, episodes(vector("sync"), mode))
    assert len({text for said in told for text in said[0]}) > len(told)


def test_without_copies_async_gives_the_view():
    env = gymnasium.make_vec(
        "ragen/Sokoban-v0", 2, "async", vector_kwargs={"copy": False}, response_format="plain"
    )
    try:
        observations, _ = env.reset(seed=0)
        assert type(observations) is TextView
        first = observations[:]
        env.step(["Up", "Down"])
        assert observations[:] != first
        assert observations[0].startswith("Done: Up.")
    finally:
        env.close()


class Babbler(gymnasium.Env):
    """Says more than its space allows."""

    observation_space = SharedText(5)
    action_space = Text(5)

    def reset(self, *, seed=None, options=None):
        return "x" * 6, {}


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_says_too_much_says_so():
    env = AsyncVectorEnv([Babbler] * 2)
    try:
        with pytest.raises(ValueError, match="returned a text of 6 characters, and its space hol"):
            env.reset()
    finally:
        env.close(terminate=True)
    assert not multiprocessing.active_children()
