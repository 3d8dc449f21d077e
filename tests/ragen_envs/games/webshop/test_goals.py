import dataclasses
import json
import re
from itertools import islice

import pytest

from ragen_envs.core.held_out import write
from ragen_envs.core.instances import SHIPPED_SPLITS, RandomStream, draw, held_out
from ragen_envs.games.webshop.env import VARIANTS, WebShopEnv
from ragen_envs.games.webshop.generator import procedural
from ragen_envs.games.webshop.goals import (
    ShoppingTask,
    TaskGenerator,
    distinguishing_attributes,
    part_of,
    price_of,
)
from ragen_envs.games.webshop.products import Catalogue, Goal
from ragen_envs.games.webshop.vocabulary import vocabulary
from tests.ragen_envs.games.webshop.support import SMALL, product
from tests.ragen_envs.support import blocks

CATALOGUE = procedural()
PRODUCTS = CATALOGUE.products
TASKS = TaskGenerator(CATALOGUE)
SOME = list(islice(TASKS(RandomStream("some")), 4000))
SHIPPED = {
    (name, split): WebShopEnv.load_shipped(name, split)
    for name in VARIANTS
    for split in SHIPPED_SPLITS
}


def shape(template):
    """Return the regular expression of a template's fixed words."""
    return ".*".join(map(re.escape, re.split(r"\{\w+\}", template)))


def test_a_task_asks_for_what_its_target_has():
    for task in SOME:
        goal, target = task.goal, PRODUCTS[task.goal.product]
        assert task.asin == target.asin
        assert 1 <= len(goal.attributes) == len(set(goal.attributes)) <= 4
        assert set(goal.attributes) <= set(target.attributes)
        assert len(goal.options) <= 3
        assert all(value in dict(target.options)[name] for name, value in goal.options)
        assert target.price[1] < goal.price_cap <= target.price[1] + 40
        assert price_of(target, task) <= goal.price_cap


def test_the_request_says_it_all():
    for task in SOME:
        goal = task.goal
        cap = f"{goal.price_cap:g} dollars"
        wanted = [PRODUCTS[goal.product].query, cap, *goal.attributes]
        wanted += [part for option in goal.options for part in option]
        assert all(part in goal.instruction for part in wanted)
        assert goal.instruction.isascii()
        assert goal.instruction.isprintable()
        assert len(goal.instruction) <= 300


def test_everything_occurs():
    assert {len(task.goal.attributes) for task in SOME} == {1, 2, 3, 4}
    assert {len(task.goal.options) for task in SOME} == {0, 1, 2, 3}
    assert len({task.goal.product for task in SOME}) > 950
    assert {task.part for task in SOME} == {"train", "val", "test", "sealed"}
    held = sum(task.part != "train" for task in SOME) / len(SOME)
    assert held == pytest.approx(9 / 16, abs=0.05)


def test_a_telling_attribute_is_asked_for():
    telling = distinguishing_attributes(PRODUCTS)
    for task in SOME:
        target = PRODUCTS[task.goal.product]
        some = {target.attributes[i] for i in telling[task.goal.product]}
        assert not some or some & set(task.goal.attributes)


def test_a_task_follows_from_its_stream():
    assert list(islice(TASKS(RandomStream("a", 1)), 5)) == list(
        islice(TASKS(RandomStream("a", 1)), 5)
    )
    assert list(islice(TASKS(RandomStream("a", 1)), 5)) != list(
        islice(TASKS(RandomStream("a", 2)), 5)
    )


def test_products_without_attributes_are_no_targets():
    catalogue = Catalogue(
        tuple(product(f"P{i}", "Mat", attributes=("soft touch",) * (i % 2)) for i in range(10)), "x"
    )
    drawn = list(islice(TaskGenerator(catalogue)(RandomStream("x")), 400))
    assert {task.goal.product for task in drawn if task} == {1, 3, 5, 7, 9}
    assert 150 < drawn.count(None) < 250


def test_the_digest_is_of_what_is_asked_for_and_not_of_its_words():
    task = SOME[0]
    goal = task.goal
    turned = dataclasses.replace(
        goal,
        instruction="else",
        attributes=goal.attributes[::-1],
        options=goal.options[::-1],
    )
    assert dataclasses.replace(task, goal=turned).digest == task.digest
    others = [
        dataclasses.replace(task, asin="X"),
        dataclasses.replace(task, catalogue="X"),
        dataclasses.replace(task, goal=dataclasses.replace(goal, price_cap=1.0)),
        dataclasses.replace(task, goal=dataclasses.replace(goal, attributes=("x",))),
        dataclasses.replace(task, goal=dataclasses.replace(goal, options=(("x", "y"),))),
    ]
    assert len({task.digest, *(other.digest for other in others)}) == 6


def test_a_target_belongs_to_one_part():
    parts = {}
    for task in SOME:
        assert parts.setdefault(task.asin, task.part) == task.part
        assert task.part == part_of(CATALOGUE.name, task.asin)


def test_a_ranged_price_is_drawn_from_all_of_its_range():
    def task(n):
        return ShoppingTask(Goal(2, "", ("a",), (), float(n + 1)), "PCCC", "small")

    prices = [price_of(SMALL.products[2], task(n)) for n in range(3000)]
    assert min(prices) == pytest.approx(9.5, abs=0.02)
    assert max(prices) == pytest.approx(12.25, abs=0.02)
    assert sum(prices) / 3000 == pytest.approx(10.875, abs=0.05)
    assert len(set(prices)) > 270
    assert price_of(SMALL.products[2], task(7)) == prices[7]
    assert price_of(SMALL.products[0], task(7)) == 10.0


def test_splits_share_neither_goals_nor_targets():
    train = [draw(TASKS, RandomStream("t", i), "train") for i in range(2000)]
    of = {"train": train}
    for (_, split), shipped in SHIPPED.items():
        of.setdefault(split, []).extend(shipped)
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        for what in ("digest", "asin"):
            mine, theirs = ({getattr(e, what) for e in of[split]} for split in (one, other))
            assert not mine & theirs
        assert not {e.goal.instruction for e in of[one]} & {e.goal.instruction for e in of[other]}


def test_held_out_requests_are_worded_as_none_of_training():
    frames = {part: words.frames for part, words in vocabulary().phrasings.items()}
    held = [shape(frame) for frame in frames["held_out"]]
    train = [shape(frame) for frame in frames["train"]]
    for task in SOME:
        text = task.goal.instruction
        is_train = task.part == "train"
        assert any(re.fullmatch(each, text) for each in (train if is_train else held))
        assert not any(re.fullmatch(each, text) for each in (held if is_train else train))


def test_the_shipped_tasks_are_what_the_generator_gives():
    taken = set()
    for name in VARIANTS:
        env = WebShopEnv(name)
        for split in SHIPPED_SPLITS:
            found = held_out(env.generate_instances, name, split, taken)
            assert tuple(found) == SHIPPED[name, split]
            text = write(map(env.write_instance, found))
            shipped = blocks("webshop", f"tasks/{name}-{split}.txt")
            assert text.count("\n; ") == len(shipped) - 1 == 255
            for task, (figures, rows) in zip(found, shipped, strict=True):
                assert figures["asin"] == PRODUCTS[int(figures["product"])].asin == task.asin
                assert float(figures["price_cap"]) == task.goal.price_cap
                assert json.loads("".join(rows))["instruction"] == task.goal.instruction
    assert len(taken) == 6 * 256
