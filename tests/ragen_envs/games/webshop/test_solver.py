import pytest

from ragen_envs.core.instances import SHIPPED_SPLITS, RandomStream, draw
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.games.webshop.actions import best_action, words_of
from ragen_envs.games.webshop.env import VARIANTS, WebShopEnv
from ragen_envs.games.webshop.goals import TaskGenerator, price_of
from ragen_envs.games.webshop.pages import Page, click, run_search
from ragen_envs.games.webshop.products import Goal
from ragen_envs.games.webshop.reward import reward_of
from ragen_envs.games.webshop.shop import procedural_shop
from tests.ragen_envs.games.webshop.support import SMALL, search

GOAL = Goal(35, "a filler", ("soft touch",), (), 20.0)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("split", SHIPPED_SPLITS)
def test_the_oracle_has_reward_1_on_every_held_out_task(name, split):
    env = WebShopEnv(name, split=split)
    for seed in range(256):
        _, info = env.reset(seed=seed)
        turns = 3 + len(env.goal.options)
        while env.legal_actions:
            _, reward, terminated, _, info = env.step(oracle_answer(env))
        assert (reward, terminated, info["success"], info["score"]) == (1.0, True, True, 1.0)
        assert info["turn"] == turns


def test_the_oracle_has_reward_1_on_tasks_of_training():
    env = WebShopEnv("WebShop-v0")
    for seed in range(300):
        _, info = env.reset(seed=seed)
        while env.legal_actions:
            info = env.step(oracle_answer(env))[4]
        assert info["success"]


@pytest.mark.slow
def test_the_oracle_finds_its_way_in_a_large_catalogue():
    shop = procedural_shop(5, 6000)
    tasks = TaskGenerator(shop.catalogue)
    for seed in range(60):
        task = draw(tasks, RandomStream("large", seed), "test")
        page, turns = Page(), 0
        while page.kind != "done":
            action = best_action(shop.catalogue, task.goal, page, 9 - turns)
            if action.startswith("search["):
                page = run_search(page, words_of(action), shop.search)
            else:
                page = click(shop.catalogue, page, words_of(action))
            turns += 1
        target = shop.catalogue.products[task.goal.product]
        price = price_of(target, task)
        assert turns <= 9
        assert reward_of(target, dict(page.chosen), price, task.goal, target).total == 1


def test_from_anywhere_the_oracle_still_succeeds_with_the_turns_it_needs():
    env = WebShopEnv("WebShopFull-v0", split="val")
    for seed in range(100):
        stream = RandomStream("astray", seed)
        env.reset(seed=seed)
        while env.turns_left > 10 and env.legal_actions:
            env.step(random_answer(env, stream))
        info = {"success": True}
        while env.legal_actions:
            info = env.step(oracle_answer(env))[4]
        assert info["success"]


def test_the_way_through_the_results():
    page = run_search(Page(), "many 50", search)
    told = []
    for _ in range(4):
        told.append(best_action(SMALL, GOAL, page, 9))
        page = click(SMALL, page, words_of(told[-1]))
    assert told == ["click[next >]", "click[next >]", "click[next >]", "click[p035]"]
    beyond = Page("results", tuple(range(50)), 5)
    assert best_action(SMALL, GOAL, beyond, 9) == "click[< prev]"
    assert best_action(SMALL, GOAL, Page("results", (1, 2)), 9) == "click[back to search]"


def test_the_way_back_from_another_product():
    other = Page("item", (1, 35), 1, 1)
    assert best_action(SMALL, GOAL, other, 9) == "click[< prev]"
    assert best_action(SMALL, GOAL, Page("item", (1, 2), 1, 1), 9) == "click[back to search]"
    assert best_action(SMALL, GOAL, Page("features", (1, 35), 1, 1), 9) == "click[< prev]"
    assert best_action(SMALL, GOAL, Page("features", (35,), 1, 35), 9) == "click[< prev]"


def test_in_the_last_turn_the_oracle_buys_what_there_is():
    assert best_action(SMALL, GOAL, Page("item", (1, 35), 1, 1), 1) == "click[buy now]"
    with pytest.raises(ValueError, match="the purchase is already made"):
        best_action(SMALL, GOAL, Page("done", (1,), 1, 1), 3)
