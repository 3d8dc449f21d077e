import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.webshop.goals import price_of
from ragen_envs.games.webshop.loader import NO_CAP, Request, load, tasks, with_offered_options
from ragen_envs.games.webshop.products import Catalogue
from ragen_envs.games.webshop.reward import check_goal, reward_of

from .public import DESK, LAMP, request, write
from .shops import product


def drawn(shop, count=200, *labels):
    requests = with_offered_options(shop.requests)
    found = tasks(shop.catalogue, requests, RandomStream("test", *labels))
    return list(itertools.islice(found, count))


@pytest.fixture
def generated(tmp_path):
    return load(write(tmp_path, [DESK | {"pricing": "$12.00 to $26.50"}, LAMP]))


@pytest.fixture
def human(tmp_path):
    entries = [
        request(),
        request(instruction="in x-small", instruction_options=["X-SMALL", ""]),
        request(instruction="in small/medium", instruction_options=["small/medium", "plain"]),
        request(instruction_options=["huge"]),
        request(instruction_options=["x-small", "small/medium"]),
        request(instruction_attributes=[]),
    ]
    return load(write(tmp_path, human={"B000000001": entries, "B000000009": 7}))


def test_generated_goals_are_worded_as_in_the_original(generated):
    texts = {task.goal.instruction for task in drawn(generated)}
    sizes = "x-small", "small | medium"
    assert texts == {
        f"Find me easy clean desks with size: {size}, and style: plain, "
        f"and price lower than {cap}.00 dollars"
        for size in sizes
        for cap in (40, 50, 60)  # the higher of two of 30, 40, 50, 60
    }
    goal = drawn(generated)[0].goal
    assert goal.attributes == ("easy clean",)
    assert dict(goal.options).keys() == {"size", "style"}


def test_people_s_goals_have_the_options_names(human):
    assert [(r.options, r.lacking) for r in human.requests] == [
        ((), ()),
        ((("size", "x-small"),), ("",)),
        ((("size", "small | medium"), ("style", "plain")), ()),
        ((), ("huge",)),
        ((("size", "x-small"),), ("small | medium",)),
    ]
    assert [(r.options, r.lacking) for r in with_offered_options(human.requests)] == [
        ((), ()),
        ((("size", "x-small"),), ()),
        ((("size", "small | medium"), ("style", "plain")), ()),
    ]
    texts = {task.goal.instruction for task in drawn(human)}
    assert "i need a desk" in texts  # without the dot; dearer than every cap
    assert all(task.goal.price_cap == NO_CAP for task in drawn(human))


def test_people_s_goals_alone_are_compared_by_value(generated, human):
    assert {task.goal.by_value for task in drawn(human)} == {True}
    assert {task.goal.by_value for task in drawn(generated)} == {False}


def test_the_files_catalogue_settles_ties_by_asin(generated):
    assert generated.catalogue.ties_by_asin


def test_every_goal_can_be_met(generated, human):
    for shop in (generated, human):
        for task in drawn(shop):
            check_goal(task.goal)
            target = shop.catalogue.products[task.goal.product]
            price = price_of(target, task)
            assert target.price[0] <= price <= target.price[1]
            found = reward_of(target, dict(task.goal.options), price, task.goal, target)
            assert found.total == 1


def test_prices_are_drawn_with_the_instance(generated):
    prices = {price_of(generated.catalogue.products[0], task) for task in drawn(generated)}
    assert len(prices) > 3
    assert [price_of(generated.catalogue.products[1], e) for e in drawn(generated, 3)] == [
        100.0
    ] * 3


def test_the_stream_alone_decides(generated):
    assert drawn(generated, 20, 7) == drawn(generated, 20, 7) != drawn(generated, 20, 8)


@given(st.floats(0, 1100), st.integers(0, 20))
def test_a_cap_is_the_higher_of_two_of_the_next_four_tens(price, seed):
    shop = Catalogue((product(price=(0.0, price)),), "test")
    asked = (Request(0, "buy it", ("cheap",), ()),)
    goal = next(tasks(shop, asked, RandomStream(seed))).goal
    above = [ten for ten in range(10, 1000, 10) if ten > price][:4]
    if len(above) < 2:
        assert (goal.price_cap, goal.instruction) == (NO_CAP, "buy it")
    else:
        assert goal.price_cap in above[1:]
        assert goal.instruction == f"buy it, and price lower than {goal.price_cap:.2f} dollars"


def test_a_price_of_ten_dollars_is_capped_above_it():
    shop = Catalogue((product(price=(10.0, 10.0)),), "test")
    asked = (Request(0, "buy it", ("cheap",), ()),)
    caps = {
        task.goal.price_cap for task in itertools.islice(tasks(shop, asked, RandomStream()), 99)
    }
    assert caps == {30, 40, 50}


def test_no_target_stands_in_two_parts(tmp_path):
    many = [DESK | {"asin": f"B{i:09}"} for i in range(300)]
    wanted = {p["asin"]: {"instruction": "buy", "instruction_attributes": ["a"]} for p in many}
    shop = load(write(tmp_path, many, wanted))
    parts = {}
    for task in drawn(shop, 3000):
        parts.setdefault(task.asin, set()).add(task.part)
    assert all(len(found) == 1 for found in parts.values())
    assert set.union(*parts.values()) == {"train", "val", "test", "sealed"}
    assert len(parts) > 290


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (7, "record B000000001: is not a list of requests but 7"),
        ([7], "record B000000001, request 1: is not an object of fields but 7"),
        ([request(), {}], "record B000000001, request 2, field 'instruction_attributes': is miss"),
        ([request(instruction=None)], "request 1, field 'instruction': is not a text but None"),
        ([request(instruction_options={})], "field 'instruction_options': is not a list of texts"),
    ],
)
def test_wrong_requests_are_named(tmp_path, entries, message):
    write(tmp_path, human={"B000000001": entries})
    with pytest.raises(ValueError, match=rf"items_human_ins\.json, .*{re.escape(message)[:60]}"):
        load(tmp_path)


def test_a_product_whose_option_has_no_value_has_no_generated_request(tmp_path):
    empty = DESK | {"customization_options": {"size": []}}
    with pytest.raises(ValueError, match="has no request"):
        load(write(tmp_path, [empty]))
