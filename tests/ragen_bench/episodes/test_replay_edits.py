"""Records that were edited: what changed is named, and nothing is a traceback."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.models import Completion
from tests.cases import examples
from tests.ragen_bench.episodes.replayed import (
    play,
    problem_of,
)

pytestmark = pytest.mark.slow


def changed(value):
    """Return values of every kind that are not equal to this one, even as Python has it."""
    others = [None, True, False, 0, 1, -1, 0.5, float("nan"), 10**30, "", "Up", [], ["Up"], {}]
    others += [f"{value}x" if isinstance(value, str) else "x", "\ud800" * 9, "y" * 10**4]
    return [one for one in others if one != value]


def paths(record):
    for name in record:
        yield (name,)
    for number, turn in enumerate(record["turns"]):
        for name in turn:
            yield "turns", number, name


CLAIMED = ("finish", "prompt_tokens", "completion_tokens")


def test_a_missing_field_is_found(configs, records):
    for path in paths(records[0]):
        record = copy.deepcopy(records[0])
        *inside, name = path
        holder = record
        for key in inside:
            holder = holder[key]
        if holder.pop(name) is not None:
            assert problem_of(configs["think"], record), path


@settings(max_examples=examples(300))
@given(data=st.data())
def test_a_changed_field_is_found(configs, records, data):
    record = copy.deepcopy(data.draw(st.sampled_from(records), label="record"))
    path = data.draw(st.sampled_from(list(paths(record))), label="path")
    *inside, name = path
    holder = record
    for key in inside:
        holder = holder[key]
    value = data.draw(st.sampled_from(changed(holder[name])), label="value")
    before = holder[name]
    holder[name] = value
    problem = problem_of(configs["think"], record)
    if problem is None:
        # An answer may be worth another one, and what the model alone knows is not recomputed.
        assert name in (*CLAIMED, "answer")
        assert type(value) is type(before)
    else:
        assert (problem.isascii(), "\n" in problem, len(problem) < 300) == (True, False, True)
        holder[name] = before
        assert problem_of(configs["think"], record) is None


def one_turn(index=0):
    return play("ragen/Sokoban-v0", index, 0, lambda env: Completion("nothing"))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            lambda r: r["turns"][2].update(reward=0),
            "turns[2].reward: recorded 0.0, recomputed -0.1",
        ),
        (lambda r: r.update(success=0), "has success 0, which is not true or false"),
        (lambda r: r.update(score=False), "has score false, which is not a number"),
        (lambda r: r.update(score=True), "has score true, which is not a number"),
        (lambda r: r.update({"return": float("nan")}), "has return NaN, which is not a number"),
        (lambda r: r.pop("optimal_length"), "optimal_length: recorded null, recomputed 8"),
        (lambda r: r["turns"].pop(), "turns: the episode goes on after turn 4, the last one"),
        (lambda r: r["turns"].clear(), "has no turn"),
        (
            lambda r: r["turns"].append(r["turns"][0]),
            "turns[5]: the episode ended a turn earlier",
        ),
        (
            lambda r: r.update(outcome="context_overflow"),
            "outcome: recorded context_overflow, but the episode ended with turn 5",
        ),
        (lambda r: r.update(outcome="success"), 'outcome: recorded "success", recomputed "inval'),
        (lambda r: r.update(turns=None), "has turns null, which is not a list"),
        (lambda r: r["turns"].insert(0, 7), "has turns[0] 7, which is not an object"),
        (lambda r: r["turns"][1].pop("answer"), "has turns[1], which lacks answer"),
        (lambda r: r["turns"][0].update(finish="context"), 'turns[0].finish: recorded "context"'),
        (
            lambda r: r["turns"][0].update(reasoning="hm"),
            "turns[0].reasoning: the model reasons by itself",
        ),
        (
            lambda r: r["turns"][0].update(prompt_tokens=-1),
            "has turns[0].prompt_tokens -1, which is below 0",
        ),
        (lambda r: r.update(index=4), "is of instance 4, sample 0, beyond run.json's"),
        (lambda r: r.update(sample=3), "is of instance 0, sample 3, beyond run.json's"),
        (lambda r: r.update(index=-1), "is of instance -1, sample 0, beyond run.json's"),
        (lambda r: r.update(index=True), "has index true, which is not a whole number"),
        (lambda r: r.update(sample=10**400), "has sample a huge number, which is too large"),
        (lambda r: r.update(env="ragen/Chess-v0"), 'is of "ragen/Chess-v0" "test", which run.json'),
        (lambda r: r.update(split="val"), 'is of "ragen/Sokoban-v0" "val", which run.json'),
        (lambda r: r.update(env=["x"]), "has env a list of 1, which is not a text"),
        (
            lambda r: r.update(final_observation=r["final_observation"][:-8] + "#" * 9**6),
            'final_observation: recorded ..."',
        ),
    ],
)
def test_the_reason_is_named(configs, edit, says):
    record = one_turn()
    edit(record)
    problem = problem_of(configs["think"], record)
    assert says in problem
    assert len(problem) < 250


@pytest.mark.parametrize("record", [None, 3, "x", [], {}, {"env": "ragen/Sokoban-v0"}])
def test_what_is_no_record_is_not_read(configs, record):
    assert problem_of(configs["think"], record).startswith(("is not an object", "lacks "))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(150))
@given(data=st.data())
def test_nothing_ends_in_a_traceback(configs, records, data):
    record = copy.deepcopy(data.draw(st.sampled_from(records)))
    for _ in range(data.draw(st.integers(1, 3))):
        *inside, name = data.draw(st.sampled_from(list(paths_of(record)) or [("env",)]))
        holder = record
        for key in inside:
            holder = holder[key]
        holder[name] = data.draw(JSON)
    problem = problem_of(configs["think"], record)
    assert problem is None or "\n" not in problem


def paths_of(record):
    """Yield the paths of an object that may no longer be a record."""
    for name in record:
        yield (name,)
    turns = record.get("turns")
    for number, turn in enumerate(turns if isinstance(turns, list) else []):
        yield "turns", number
        for name in turn if isinstance(turn, dict) else ():
            yield "turns", number, name
