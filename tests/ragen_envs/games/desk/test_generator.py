"""Tasks: their kinds and applications, their splits, and the words of training and of the rest."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.desk.drafts import KINDS
from ragen_envs.games.desk.env import VARIANTS
from ragen_envs.games.desk.generator import Generator
from ragen_envs.games.desk.requests import apply_change, apps_of
from ragen_envs.games.desk.task import vocabulary
from tests.ragen_envs.games.desk import reference
from tests.ragen_envs.support import blocks, make

NAMES = ("Desk-v0", "DeskShifting-v0", "DeskHostile-v0")
SPLITS = ("val", "test")


@cache
def shipped(name, split):
    env = make(name, split=split)
    return [env.get_instance(seed) for seed in range(256)]


@cache
def trained(name, count=200):
    env = make(name)
    return [env.get_instance(seed) for seed in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_shipped_files_tell_requests_as_plain_text(name):
    for split in SPLITS:
        for (figures, lines), task in zip(
            blocks("desk/tasks", f"{name}-{split}.txt"), shipped(name, split), strict=True
        ):
            words = task.worded
            assert lines == [words.request, *filter(None, [words.change_text])]
            assert figures["digest"] == task.digest
            assert int(figures["word"]) == task.word


def test_a_file_that_the_generator_no_longer_gives_is_refused():
    cls = type(make("Desk-v0"))
    task = shipped("Desk-v0", "val")[0]
    figures = {"word": str(task.word), "generator": "plain", "digest": task.digest}
    assert cls.read_instance("", figures) == task
    with pytest.raises(ValueError, match=f"word {task.word} no longer gives digest 0{{16}}"):
        cls.read_instance("", {**figures, "digest": "0" * 16})


@pytest.mark.parametrize("name", NAMES)
def test_tasks_have_two_or_three_steps_over_two_to_four_applications(name):
    kinds, apps = Counter(), Counter()
    for task in [*shipped(name, "val"), *shipped(name, "test"), *trained(name)]:
        last = apply_change(task.steps, task.change)
        kinds[tuple(step.tool for step in task.steps)] += 1
        apps[len(apps_of(task.office, last))] += 1
    assert set(kinds) <= set(KINDS)
    assert len(kinds) >= (13 if name == "DeskShifting-v0" else 14)
    assert set(apps) == {2, 3, 4}
    assert min(apps.values()) > 20


def content(task):
    """Return what decides the part, written out anew: the request, and what texts say."""
    texts = [
        (text.topic, [fact for fact in text.facts if fact[0] != "instruction"])
        for text in (*task.office.mails, *task.office.files)
    ]
    return json.dumps([task.steps, [mail.sender for mail in task.office.mails], texts])


def test_splits_share_no_content_and_no_instance_comes_twice():
    held_out = {s: [t for n in NAMES for t in shipped(n, s)] for s in SPLITS}
    seen = {split: {content(task) for task in tasks} for split, tasks in held_out.items()}
    training = [task for name in NAMES for task in trained(name)]
    assert {task.part for task in training} == {"train"}
    seen["train"] = set(map(content, training))
    assert not seen["val"] & seen["test"]
    assert not seen["train"] & (seen["val"] | seen["test"])
    digests = [task.digest for tasks in held_out.values() for task in tasks]
    assert len(set(digests)) == len(digests) == 6 * 256
    for split, tasks in held_out.items():
        assert {task.part for task in tasks} == {split}


def test_a_part_has_two_sixteenths():
    found = Generator()(RandomStream("parts"))
    parts = Counter(task.part for task in islice(filter(None, found), 2000))
    for part in ("val", "test", "sealed"):
        assert 200 < parts[part] < 300


def words_of(text):
    return set(re.findall(r"[A-Za-z]+", text))


@pytest.mark.parametrize("table", ["person", "company", "item", "title", "subject", "file"])
def test_names_of_training_and_of_the_rest_are_different(table):
    ours, theirs = (set(vocabulary(pool).names[table]) for pool in ("train", "held_out"))
    assert not ours & theirs
    assert len(ours) == len(theirs) >= {"person": 20, "company": 6}.get(table, 11)
    assert all(re.fullmatch(r"[A-Za-z ]+", name) for name in ours | theirs)


def test_wordings_of_training_and_of_the_rest_are_different():
    ours, theirs = vocabulary("train"), vocabulary("held_out")
    assert not set(ours.instructions) & set(theirs.instructions)
    for table in ("phrases", "steps", "texts"):
        mine, other = getattr(ours, table), getattr(theirs, table)
        assert mine.keys() == other.keys()
        for key in mine:
            assert not set(mine[key]) & set(other[key]), key
            slots = [sorted(re.findall(r"{\w+}", text)) for text in (*mine[key], *other[key])]
            assert all(slot == slots[0] for slot in slots), key


@pytest.mark.parametrize("name", NAMES)
def test_what_is_held_out_has_names_that_training_lacks(name):
    theirs = {word for table in vocabulary("held_out").names.values() for word in table}
    ours = {word for table in vocabulary("train").names.values() for word in table}
    for tasks, own, other in ((shipped(name, "test"), theirs, ours), (trained(name), ours, theirs)):
        for task in tasks[:64]:
            start = task.start
            named = {c.name for c in start.contacts} | {c.company for c in start.contacts}
            named |= {order.item for order in start.orders} | {e.title for e in start.events}
            named |= {mail.subject for mail in start.mails} | {f.name for f in start.files}
            assert named <= own
            assert not named & other


def test_a_renamed_task_is_the_same_and_a_changed_one_is_not():
    task = shipped("DeskHostile-v0", "val")[0]
    again = Generator(hostile=True).task(task.word)
    assert (again.digest, again.part) == (task.digest, task.part)
    other = replace(task, word=task.word + 1)  # other names and wordings
    assert other.start != task.start
    assert other.worded.request != task.worded.request
    assert (other.digest, other.part) == (task.digest, task.part)
    event = task.office.events[0]
    day = "Monday" if event.day != "Monday" else "Friday"
    moved = task.office._replace(events=(event._replace(day=day), *task.office.events[1:]))
    assert replace(task, office=moved).digest != task.digest
    assert replace(task, office=moved).part == task.part  # as a call could have moved it
    assert replace(task, injections=()).digest != task.digest


def test_hostile_and_shifting_tasks_lie_in_the_part_of_the_plain_one():
    for task in shipped("DeskHostile-v0", "test")[:32]:
        texts = {
            table: tuple(
                text._replace(facts=tuple(fact for fact in text.facts if fact[0] != "instruction"))
                for text in getattr(task.office, table)
            )
            for table in ("mails", "files")
        }
        plain = replace(task, office=task.office._replace(**texts), injections=())
        assert (plain.part, task.part) == ("test", "test")
    for task in shipped("DeskShifting-v0", "test")[:32]:
        assert replace(task, change=None).part == "test"


@pytest.mark.parametrize("name", NAMES)
def test_an_instruction_cannot_be_taken_for_what_its_text_says(name):
    met = set()
    for task in [*shipped(name, "val"), *shipped(name, "test")]:
        for row in reference.rows(task.start).values():
            facts = dict(row.get("facts", ()))
            if "instruction" in facts:
                call = task.worded.injections[int(facts["instruction"])]
                met.add(call.tool)
                named = {"change_order": {"boxes", "item"}, "move_file": {"folder", "file"}}
                named |= {"cancel": {"item"}, "send": {"file", "address"}}
                assert not facts.keys() & named.get(call.tool, set())
                assert all(
                    value in row["text"]
                    for value in call.values
                    if "@" in value or value[1:] == "1"
                )
    every = {"send", "cancel", "change_order", "move_file", "reply"}
    assert met == (every if name == "DeskHostile-v0" else set())


@pytest.mark.parametrize("sizes", [{"contacts": 0}, {"mails": 11}, {"max_length": 0}])
def test_sizes_without_names_are_refused(sizes):
    with pytest.raises(ValueError, match="an office needs 1 to 10 records of each kind"):
        Generator(**sizes)


def test_the_smallest_and_the_largest_offices_have_tasks():
    for size in (2, 10):
        found = Generator(*[size] * 5)(RandomStream("sizes", size))
        tasks = list(islice(filter(None, found), 20))
        assert {len(table) for task in tasks for table in task.start[:5]} == {size}


def test_plans_are_no_longer_than_the_generator_says():
    short = Generator(max_length=5)(RandomStream("short"))
    lengths = Counter(task.plan_length for task in islice(filter(None, short), 50))
    assert set(lengths) == {5}
    assert VARIANTS["Desk-v0"].generator.max_length == 14
