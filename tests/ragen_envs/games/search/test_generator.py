"""Questions: one answer each by a walk over the pages, and splits that share no world."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.search.generator import Generator, Question
from tests.cases import examples
from tests.ragen_envs.games.search import reference
from tests.ragen_envs.support import blocks, make


def check(task, hops):
    """Walk over the pages, and compare each step with the chain of the task."""
    world = task.world
    steps = reference.answers(world.pages, task.question)
    assert steps == [{world.name(thing)} for thing in task.chain]
    assert len(steps) - 1 == len(task.hops) in hops
    assert task.question.startswith("Who") == any(
        page.startswith(f"{task.answer} (person)") for page in world.pages
    )
    naming = []
    for page, by in task.lookups:
        title, found = reference.facts_on(world.pages[page])
        naming.append(task.answer in (title, *(name for _, name in found)))
        assert page in world.search(world.name(by))
    assert naming == [False] * (len(naming) - 1) + [True]
    assert len(naming) >= 2


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 2**64 - 1), st.sampled_from([(2, 2), (2, 4), (5, 6)]))
def test_a_question_has_one_answer(number, hops):
    task = Question(number, *hops).task
    check(task, range(hops[0], hops[1] + 1))
    assert task == Question(number, *hops).task


@pytest.mark.slow
@pytest.mark.parametrize("split", ["val", "test"])
def test_each_held_out_question_has_the_shipped_answer_alone(split):
    env = make("Search-v0", split=split)
    shipped = blocks("search/questions", f"Search-v0-{split}.txt")
    assert len(shipped) == 256 == len({question for _, [question, _] in shipped})
    for seed, (fields, [question, answer]) in enumerate(shipped):
        env.reset(seed=seed)
        assert (env.task.question, env.task.answer) == (question, answer)
        assert env.instance == Question(int(fields["number"]), 2, 4)
        assert env.instance.part == split
        check(env.task, (2, 3, 4))


def test_parts_follow_from_the_number_and_hold_sixteenths():
    stream = RandomStream("parts")
    parts = [question.part for question, _ in zip(Generator()(stream), range(4800), strict=False)]
    for part in ("val", "test", "sealed"):
        assert 220 < parts.count(part) < 380
    assert parts.count("train") > 3700


def test_names_of_training_and_of_other_splits():
    for number in range(40):
        question = Question(number, 2, 4)
        stems = reference.TABLES["stems"]["train" if question.part == "train" else "held_out"]
        for title in question.task.world.titles:
            assert title.removeprefix("The ").startswith(tuple(stems))


@pytest.mark.parametrize("hops", [(1, 2), (3, 2), (2, 7)])
def test_other_numbers_of_hops_are_refused(hops):
    with pytest.raises(ValueError, match=f"hops go from 2 to 6, got {hops[0]} to {hops[1]}"):
        Generator(*hops)


def test_a_file_that_the_generator_no_longer_gives_is_refused():
    cls = type(make("Search-v0"))
    fields, (question, answer) = blocks("search/questions", "Search-v0-val.txt")[0]
    assert cls.read_instance(f"{question}\n{answer}", fields).task.answer == answer
    for body in (f"{question}\n{answer}x", f"Who?\n{answer}", ""):
        changed = cls.read_instance(body, fields)
        asked = re.escape(repr(body.partition("\n")[0]))
        with pytest.raises(ValueError, match=f"^number [0-9]+ no longer gives {asked} with its"):
            _ = changed.task
