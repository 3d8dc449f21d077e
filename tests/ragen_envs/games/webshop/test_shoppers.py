import re
import textwrap

import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.games.webshop.env import WebShopEnv
from ragen_envs.games.webshop.goals import price_of
from ragen_envs.games.webshop.reward import reward_of
from tests.ragen_envs.games.webshop.shoppers import attribute_blind, bag_of_words, literal


def played(shopper, split="val", seeds=256):
    """Return the mean score, the rate of success and the mean of each part of the reward."""
    env = WebShopEnv("WebShop-v0", split=split, response_format="plain")
    infos = []
    for seed in range(seeds):
        _, info = env.reset(seed=seed)
        while env.legal_actions:
            info = env.step(shopper(env))[4]
            assert info["action_is_valid"]
        infos.append(info)
    return {
        key: sum(float(info[key]) for info in infos) / seeds
        for key in ("score", "success", "r_type", "r_att", "r_option", "r_price")
    }


def test_the_random_shopper_gets_next_to_nothing():
    stream = RandomStream("floor")
    found = played(lambda env: random_answer(env, stream))
    assert found["score"] < 0.08
    assert found["success"] < 0.03


def test_a_bag_of_words_stands_clearly_between():
    found = played(bag_of_words)
    assert 0.5 < found["score"] < 0.7
    assert 0.02 < found["success"] < 0.15
    assert found["r_att"] < 0.9
    assert found["r_option"] < 0.25
    assert found["r_price"] < 0.9


def test_who_overlooks_one_attribute_misses_one_purchase_of_five():
    found = played(attribute_blind)
    assert 0.9 < found["score"] < 0.97
    assert 0.65 < found["success"] < 0.85
    assert found["r_type"] == 1
    assert found["r_att"] < 0.92
    assert found["r_option"] > 0.97


def test_who_takes_words_literally_misses_attributes():
    found = played(literal)
    assert 0.8 < found["score"] < 0.92
    assert 0.5 < found["success"] < 0.7
    assert found["r_att"] < 0.87
    assert found["r_option"] < 0.93
    assert found["r_price"] == 1


def test_the_literal_shopper_reads_no_more_than_request_and_pages():
    env = WebShopEnv("WebShop-v0", split="test", response_format="plain")
    for seed in range(100):
        request = env.reset(seed=seed)[0].split("Instruction:\n")[1].split("\n")[0]
        cap = float(re.findall(r"([0-9]+) dollars", request)[-1])
        results = env.step(literal(env))[0]
        hits = re.findall(r"\[button\] (p\w+) .*\n.*\n\$(?:.* to \$)?([0-9.]+)", results)
        affordable = [asin for asin, price in hits if float(price) <= cap]
        assert literal(env) == f"click[{[*affordable, hits[0][0]][0]}]"
        env.step(literal(env))
        while (answer := literal(env)) != "click[buy now]":
            assert answer.removeprefix("click[").removesuffix("]") in request
            assert env.step(answer)[4]["action_is_effective"]


@pytest.mark.parametrize(
    ("seed", "held", "option"),
    [
        (111, "under 70 dollars", "shoe size"),  # offers 7
        (185, "shoe size 9.5", "shoe size"),  # offers 9
        (264, "48 count", "pack"),  # offers 8 count
        (407, "tailored", "color"),  # offers red
    ],
)
def test_the_literal_shopper_chooses_no_part_of_a_number_or_word(seed, held, option):
    env = WebShopEnv("WebShop-v0", response_format="plain")
    env.reset(seed=seed)
    assert held in env.goal.instruction
    while env.legal_actions:
        env.step(literal(env))
    values = dict(env.shop.catalogue.products[env.page.product].options)[option]
    assert any(value in held for value in values)
    assert option not in dict(env.page.chosen)


@pytest.mark.parametrize("shopper", [bag_of_words, literal, attribute_blind])
def test_shoppers_buy_and_answer_in_form(shopper):
    env = WebShopEnv("WebShopText-v0", split="test")
    for seed in range(20):
        env.reset(seed=seed)
        while env.legal_actions:
            *_, terminated, _, info = env.step(shopper(env))
            assert info["format_is_valid"]
        assert terminated


def test_a_bag_of_words_buys_the_first_hit_of_the_whole_request():
    env = WebShopEnv("WebShop-v0", split="test", response_format="plain")
    for seed in range(40):
        env.reset(seed=seed)
        first = env.shop.search(env.goal.instruction)[0]
        asin = env.shop.catalogue.products[first].asin.lower()
        told = []
        while env.legal_actions:
            told.append(bag_of_words(env))
            env.step(told[-1])
        assert told == [told[0], f"click[{asin}]", "click[buy now]"]
        assert env.page.chosen == ()


@pytest.mark.parametrize(
    ("row", "shopper"),
    [
        ("bag of words", bag_of_words),
        ("literal", literal),
        ("blind", attribute_blind),
        ("oracle", oracle_answer),
    ],
)
def test_the_specification_states_what_shoppers_get(row, shopper):
    [line] = [s for s in WebShopEnv.__doc__.splitlines() if s.strip().startswith(f"| {row}")][-1:]
    stated = [float(cell) for cell in line.split("|")[2:-1]]
    found = played(shopper, split="test")
    measured = [found[key] for key in ("score", "success", "r_att", "r_option", "r_price")]
    assert stated == pytest.approx(measured, abs=0.0006)


@pytest.mark.slow
def test_the_specification_states_how_often_other_products_do():
    env = WebShopEnv("WebShop-v0", split="test")
    products = env.shop.catalogue.products
    others = of_another_kind = 0
    for seed in range(256):
        task = env.get_instance(seed)
        goal = task.goal
        target = products[goal.product]
        kinds = {
            product.query
            for position, product in enumerate(products)
            if position != goal.product
            and all(value in dict(product.options).get(name, ()) for name, value in goal.options)
            and reward_of(product, dict(goal.options), price_of(product, task), goal, target).total
            == 1
        }
        others += bool(kinds)
        of_another_kind += bool(kinds - {target.query})
    stated = " ".join(WebShopEnv.__doc__.split())
    assert f"On {others} of the 256 test instances of WebShop-v0 there are others" in stated
    assert f"on {of_another_kind} of them one of another kind" in stated


def test_the_example_of_the_specification_runs():
    code = textwrap.dedent(WebShopEnv.__doc__.partition("```python\n")[2].partition("```")[0])
    found = {}
    exec(code, found)
    assert found["info"]["turn"] == 1
    assert found["env"].page.kind == "results"
