import copy
import dataclasses
import json
import pickle
import random
import warnings
from functools import partial

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS
from ragen_envs.games.webshop.actions import click_of, search_of
from ragen_envs.games.webshop.env import PARTS, VARIANTS, WebShopEnv, WebShopVariant
from ragen_envs.games.webshop.goals import price_of
from ragen_envs.games.webshop.pages import labels
from ragen_envs.games.webshop.shop import procedural_shop
from ragen_envs.testing import check_text_env
from tests.cases import examples

COMMON = {
    "success", "score", "format_is_valid", "action_is_valid", "action_is_effective",
    "answer_is_example", "legal_actions", "turn", "actions_left", "instance", "index", "ceiling",
}  # fmt: skip


def make(name="WebShop-v0", split="val", **options):
    return WebShopEnv(name, split=split, **{"response_format": "plain", **options})


def formula(env):
    """Return what the purchase is worth, reckoned apart from the package's reward.

    The catalogue has attributes that no other contains, so that having one is naming it; options
    count when the very value was chosen; and the kinds of a family share two breadcrumbs.
    """
    goal, products = env.goal, env.shop.catalogue.products
    bought, target = products[env.page.product], products[goal.product]
    price = price_of(bought, env._task)
    met = sum(attribute in bought.attributes for attribute in goal.attributes)
    met += sum(option in env.page.chosen for option in goal.options)
    met += price <= goal.price_cap
    nouns = set(target.nouns)
    title = len(nouns & set(bought.nouns)) / len(nouns)
    shared = len(set(target.breadcrumbs) & set(bought.breadcrumbs))
    kind = 1.0 if target.query == bought.query or shared >= 2 or title > 0.2 else 0.5
    kind = 0.0 if title == 0 else 0.1 if title < 0.1 else kind
    return kind * met / (len(goal.attributes) + len(goal.options) + 1)


moves = st.lists(
    st.tuples(st.sampled_from(["listed", "oracle", "buy", "search"]), st.integers(0, 200)),
    max_size=16,
)


@given(moves, st.sampled_from(list(VARIANTS)), st.integers(0, 255))
@settings(max_examples=examples(150), deadline=None)
def test_any_actions_lead_to_consistent_pages_and_reward_comes_at_the_end(moves, name, seed):
    env = make(name)
    _, info = env.reset(seed=seed)
    for move, number in moves:
        legal = info["legal_actions"]
        action = legal[number % len(legal)]
        if move == "oracle":
            action = env.best_actions()[0]
        elif move == "buy" and "click[buy now]" in legal:
            action = "click[buy now]"
        elif move == "search" and env.page.kind == "search":
            action = f"search[{env.shop.catalogue.products[number].title}]"
        turn = info["turn"]
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["action_is_valid"]
        assert info["turn"] == turn + 1
        assert observation in env.observation_space
        assert env.goal.instruction in observation
        assert terminated == (env.page.kind == "done") == (action == "click[buy now]")
        assert truncated == (not terminated and info["turn"] == env.budget.max_turns)
        if terminated:
            assert reward == pytest.approx(formula(env), abs=1e-12)
            assert info["score"] == pytest.approx(reward, abs=1e-12)
            assert info["success"] == (formula(env) == 1)
        else:
            assert (reward, info["score"], info["success"]) == (0, 0.0, False)
            assert all(info[part] == 0 for part in PARTS)
        if terminated or truncated:
            assert info["legal_actions"] == ()
            return
        clicks = tuple(map(click_of, labels(env.shop.catalogue, env.page)))
        assert info["legal_actions"] == clicks or env.page.kind == "search"
        assert info["legal_actions"]


@given(moves, st.integers(0, 255))
@settings(max_examples=examples(40), deadline=None)
def test_every_listed_action_is_accepted_and_leads_somewhere(moves, seed):
    env = make("WebShopFull-v0")
    env.reset(seed=seed)
    for move, number in moves[:8]:
        chosen = [click_of(value) for _, value in env.page.chosen]
        for action in env.legal_actions:
            twin = copy.copy(env)
            info = twin.step(action)[4]
            assert info["action_is_valid"]
            assert info["action_is_effective"] == (twin.page != env.page)
            assert info["action_is_effective"] or action in chosen
            assert twin.page.kind == "results" or not action.startswith("search[")
        legal = env.legal_actions
        env.step(env.best_actions()[0] if move == "oracle" else legal[number % len(legal)])
        if not env.legal_actions:
            return


@given(
    st.lists(
        st.sampled_from(["desk lamp", "<b>", "</answer>", "\x00", "\x1b[2J", "]", "[", "||", "\n"])
    ),
    st.sampled_from(["", "x", "<r>", "\u202e", "\ud800 "]),
)
@example(["desk lamp"], "x")
@settings(max_examples=examples(60), deadline=None)
def test_searches_of_markup_control_characters_and_10000_characters(parts, repeated):
    said = " ".join([*parts, repeated * (10_000 // max(len(repeated), 1))])
    env = make()
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(f"search[{said}]")
    assert observation in env.observation_space
    assert len(observation) < 3000
    assert len(observation.partition("\n")[0]) < 450
    assert (reward, terminated, truncated) == (0, False, False)
    if "||" in parts:
        return  # several actions, of which the first may be none
    assert info["action_is_valid"] == (search_of(said) != "search[]")
    if info["action_is_valid"]:
        assert observation.startswith(f"Done: {search_of(said)}. Reward: 0. Remaining: 8 turns")
        assert env.page.hits == tuple(env.shop.search(search_of(said)[7:-1]))
    assert "desk lamp" not in parts[:1] or env.page.hits


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
@given(answers=st.lists(st.text(max_size=40), min_size=1, max_size=9), seed=st.integers(0, 255))
@settings(max_examples=examples(40), deadline=None)
def test_any_text_is_an_answer(form, answers, seed):
    env = make(response_format=form)
    env.reset(seed=seed)
    for text in answers:
        for answer in (text, f"<answer>search[{text}]</answer>"):
            before = env.page
            observation, reward, terminated, _, info = env.step(answer)
            assert observation in env.observation_space
            assert reward == 0
            assert not terminated
            assert info["action_is_valid"] or env.page == before
            if not info["legal_actions"]:
                return


@pytest.mark.parametrize(
    "answer",
    ["click[buy now]", "click[red]", "buy now", "search[]", "ACTION", "", "x" * 100_000, "\x00"],
)
def test_what_the_page_does_not_offer_does_nothing(answer):
    env = make()
    first, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(answer)
    assert (reward, terminated, truncated) == (0, False, False)
    assert not info["action_is_valid"]
    assert not info["action_is_effective"]
    assert info["turn"] == 1
    assert observation == (
        "Done: nothing. What is not an action was skipped. Reward: 0. "
        "Remaining: 8 turns, 9 actions.\n" + first.split("\n\n")[1]
    )


def test_a_search_is_of_the_search_page_only():
    env = make()
    env.reset(seed=0)
    assert env.step("search[shoes]")[4]["action_is_valid"]
    assert env.page.kind == "results"
    assert not env.step("search[shoes]")[4]["action_is_valid"]
    assert env.step("Click[Back to Search]")[4]["action_is_valid"]
    assert env.step("SEARCH[ shoes ]")[4]["action_is_valid"]


def test_a_turn_has_one_action():
    env = make()
    env.reset(seed=0)
    observation = env.step("search[ankle boots] || search[lamp]")[0]
    assert observation.startswith(
        "Done: search[ankle boots]. The last action was not run. Reward: 0. "
        "Remaining: 8 turns, 8 actions."
    )
    assert env.page.kind == "results"


def test_hostile_searches_are_told_in_short():
    env = make()
    env.reset(seed=0)
    observation, *_, info = env.step("search[" + "<b>\x00\u202e&amp; lamp " * 1000 + "]")
    assert info["action_is_valid"]
    assert observation.startswith("Done: search[<b> &amp; lamp <b> &amp; lamp <b>")
    assert len(observation) < 2500
    assert env.page.hits


def test_a_repeated_choice_is_no_effect():
    env = make()
    for seed in range(256):
        env.reset(seed=seed)
        if env.goal.options:
            break
    for _ in range(2):
        env.step(oracle_answer(env))
    choice = oracle_answer(env)
    assert env.step(choice)[4]["action_is_effective"]
    info = env.step(choice)[4]
    assert info["action_is_valid"]
    assert not info["action_is_effective"]


@pytest.mark.parametrize("name", VARIANTS)
def test_budgets_and_modes(name):
    env = make(name)
    first, info = env.reset(seed=1)
    turns = 15 if "Full" in name else 9
    assert info["actions_left"] == env.turns_left == turns
    assert f"You have {turns} turns with one action each." in first
    assert len(first.split("\n\n")) == 3
    observation = env.step("search[lamp]")[0]
    assert (" [SEP] " in observation) == ("Text" in name)
    assert ("[button] " in observation) == ("Text" not in name)
    listed = observation.splitlines()[-1].removeprefix("Actions: ").split(", ")
    assert (tuple(listed) == env.legal_actions) == ("Text" in name)
    for _ in range(turns - 1):
        assert env.legal_actions
        *_, truncated, _ = env.step("nothing")
    assert truncated


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_gymnasium_has_nothing_to_say(name, split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(WebShopEnv(name, split=split), skip_render_check=True)
        check_env(make(name, split=split, render_mode="ansi"), skip_render_check=True)


@pytest.mark.slow
def test_the_kit_has_nothing_to_say():
    name = "WebShopText-v0"  # test_suite.py has WebShop-v0
    outcomes = check_text_env(
        partial(WebShopEnv, name),
        answers=lambda env, rng: random_answer(env, RandomStream("kit", rng.getrandbits(64))),
        splits={
            split: partial(WebShopEnv, name, split=split) for split in ("train", "val", "test")
        },
        held_out={"val": 256, "test": 256},
        noise_options=lambda j: {"noise_seed": j},
        stochastic=False,
        oracle=oracle_answer,
        oracle_episodes=40,
        max_turns=9,
        seeds=range(2),
    )
    skipped = [outcome.name for outcome in outcomes if outcome.status == "skipped"]
    assert skipped == ["rollouts_differ_in_noise"]


def test_info_is_plain_data():
    env = make()
    for info in (env.reset(seed=0)[1], env.step("search[lamp]")[4]):
        assert set(info) == COMMON | set(PARTS)
        assert info["ceiling"] == 1.0
        json.dumps(info)


def test_the_example_is_flagged():
    env = make(response_format="think")
    first, _ = env.reset(seed=0)
    info = env.step(first.splitlines()[-1])[4]
    assert info["answer_is_example"]
    assert info["format_is_valid"]
    assert not info["action_is_valid"]


def test_observations_fit_in_the_smallest_of_contexts():
    longest = 0
    for name in VARIANTS:
        env = make(name)
        for seed in range(64):
            stream = RandomStream("longest", seed)
            first, _ = env.reset(seed=seed)
            longest = max(longest, len(first))
            while env.legal_actions:
                careless = stream.below(2)
                answer = random_answer(env, stream) if careless else oracle_answer(env)
                longest = max(longest, len(env.step(answer)[0]))
    assert longest < 2500


def test_copies_share_the_shop_and_nothing_else():
    env = make(render_mode="ansi")
    env.reset(seed=3)
    env.step(oracle_answer(env))
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.shop is env.shop
        assert twin.render() == env.render()
        assert twin.step(oracle_answer(twin))[0] != env.render()
    assert len(pickle.dumps(env)) < 20_000
    assert make().shop is env.shop is procedural_shop(0, 1000)


def test_interleaved_episodes_leave_each_other_alone():
    def episode(env, seed):
        yield env.reset(seed=seed)
        stream = RandomStream("interleaved", seed)
        while env.legal_actions:
            yield env.step(random_answer(env, stream))

    alone = [list(episode(make(), seed)) for seed in range(3)]
    running = [episode(make(), seed) for seed in range(3)]
    told = [[] for _ in running]
    for _ in range(12):
        for said, one in zip(told, running, strict=True):
            said += [x for x in [next(one, None)] if x is not None]
    assert told == alone


def test_rollouts_are_alike_and_global_generators_untouched():
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    env, told = make(), []
    for rollout in range(4):
        told.append([env.reset(seed=5, options={"noise_seed": rollout})])
        while env.legal_actions:
            told[-1].append(env.step(oracle_answer(env)))
    assert told == told[:1] * 4
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Mine-v0: set max_actions_per_turn=1"):
        WebShopVariant("Mine-v0", budget=Budget())
    with pytest.raises(ValueError, match="Mine-v0: a purchase takes 6 turns, not 5"):
        WebShopVariant("Mine-v0", budget=Budget(5, 1, 9, 0))


def test_a_variant_of_your_own_has_a_catalogue_of_its_own():
    mine = dataclasses.replace(VARIANTS["WebShop-v0"], name="M-v0", products=200, catalogue_seed=4)
    env = WebShopEnv(mine, response_format="plain")
    for seed in range(30):
        _, info = env.reset(seed=seed)
        assert env.shop.catalogue.name == "procedural-4-200"
        while env.legal_actions:
            info = env.step(oracle_answer(env))[4]
        assert info["success"]
    with pytest.raises(ValueError, match="'M-v0' of your own has the splits 'train', 'sealed'"):
        WebShopEnv(mine, split="test").reset(seed=0)


def test_sealed_tasks_are_the_keys_own(monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", "5" * 64)
    env = make(split="sealed")
    digests = {env.reset(seed=seed)[1]["instance"] for seed in range(256)}
    assert len(digests) == 256
    assert {env.get_instance(seed).part for seed in range(256)} == {"sealed"}
