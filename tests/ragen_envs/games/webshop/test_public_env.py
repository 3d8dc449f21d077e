"""The environment on public files, small ones of the tests' own and the excerpt where it lies."""

import copy
import dataclasses
import json
import pickle

import pytest

from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.core.policies import oracle_answer
from ragen_envs.games.webshop.actions import click_of
from ragen_envs.games.webshop.env import VARIANTS, WebShopEnv
from ragen_envs.games.webshop.goals import part_of
from tests.ragen_envs.games.webshop import public
from tests.ragen_envs.games.webshop.excerpt import FOLDER, needs_excerpt, records
from tests.ragen_envs.games.webshop.test_loader import raw

COUNT = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Desks of three sizes, one of which is written with letters beyond ASCII."""
    products, attributes = [], {}
    for i in range(COUNT):
        asin = f"B{i:09}"
        sizes = [{"value": value} for value in ("Small", "Buy Now", f"{i}/Ñandú || x")]
        products.append(
            public.DESK
            | {
                "asin": asin,
                "name": f"Oak Desk № {i} café{i}",
                "pricing": f"${i + 10}.00",
                "customization_options": {"Size": sizes, "Fit": [{"value": "small"}]},
            }
        )
        attributes[asin] = public.ATTRIBUTES["B000000001"]
    return public.write(tmp_path_factory.mktemp("public"), products, attributes)


def make(folder, name="WebShop-v0", **options):
    return WebShopEnv(name, response_format="plain", catalogue=folder, **options)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_oracle_buys_what_public_files_ask_for(folder, name):
    for split in ("train", *SHIPPED_SPLITS):
        env = make(folder, name, split=split)
        for seed in range(40):
            observation, info = env.reset(seed=seed)
            assert info["ceiling"] == 1.0
            assert observation in env.observation_space
            while env.legal_actions:
                assert env.observation_space.contains(observation)
                observation, *_, info = env.step(oracle_answer(env))
            assert info["success"]
            assert observation in env.observation_space


def test_splits_are_generated_and_share_no_target(folder):
    of = {}
    for split in SHIPPED_SPLITS:
        env = make(folder, split=split)
        tasks = [env.get_instance(seed) for seed in range(256)]
        assert len({task.digest for task in tasks}) == 256
        assert env.get_instance(300) == tasks[44]
        assert {part_of(task.catalogue, task.asin) for task in tasks} == {split}
        of[split] = tasks
    assert make(folder).shop is make(folder).shop
    shipped = WebShopEnv("WebShop-v0", split="val").get_instance(0)
    assert shipped.catalogue == "procedural-0-1000" != of["val"][0].catalogue


def test_values_that_two_options_share_are_told_apart(folder):
    env = make(folder)
    env.reset(seed=0)
    env.step("search[desk]")
    env.step(env.legal_actions[-1])
    labels = {"click[size: small]", "click[fit: small]", "click[size: buy now]", "click[buy now]"}
    assert labels <= set(env.legal_actions)
    [odd] = [action for action in env.legal_actions if "ñandú" in action]
    observation, *_, info = env.step(odd.upper())
    assert info["action_is_effective"]
    assert odd in observation
    assert env.step(click_of("Size: Buy Now"))[4]["action_is_effective"]
    assert env.page.kind == "item"


def test_copies_of_a_public_shop_find_it_again(folder):
    env = make(folder, render_mode="ansi")
    env.reset(seed=1)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.shop is env.shop
        assert twin.render() == env.render()
        assert twin.observation_space == env.observation_space


def test_files_too_small_for_a_split_are_refused_in_one_line(tmp_path):
    env = make(public.write(tmp_path), split="test")
    with pytest.raises(ValueError, match=r"^the catalogue 'items_shuffle_1000-2-\w+' is too small"):
        env.reset(seed=0)


def test_a_folder_without_files_is_refused_in_one_line(tmp_path):
    with pytest.raises(ValueError, match="is not a folder of WebShop's files") as error:
        make(tmp_path / "nowhere")
    assert "\n" not in str(error.value)


def test_compat_takes_the_originals_reward():
    """There some purchases of the very target, with the very options, are worth less than 1."""
    exact = WebShopEnv("WebShop-v0", response_format="plain")
    quirky = WebShopEnv("WebShop-v0", response_format="plain", compat=True)
    assert quirky.variant == dataclasses.replace(exact.variant, compat=True)
    ceilings = []
    for seed in range(150):
        assert exact.reset(seed=seed)[1]["instance"] == quirky.reset(seed=seed)[1]["instance"]
        ceilings.append(quirky.reset(seed=seed)[1]["ceiling"])
        while quirky.legal_actions:
            _, reward, *_, info = quirky.step(oracle_answer(quirky))
        assert reward == pytest.approx(info["ceiling"], abs=1e-12)
    assert min(ceilings) < 1
    assert max(ceilings) == 1
    with pytest.raises(ValueError, match="has the splits 'train', 'sealed'"):
        WebShopEnv("WebShop-v0", split="test", compat=True).reset(seed=0)


def test_compat_alone_keeps_requests_for_what_the_product_lacks(tmp_path):
    wishes = [
        public.request(instruction="a small one", instruction_options=["x-small"]),
        public.request(instruction="a huge one", instruction_options=["huge", "x-small"]),
    ]
    desks = [public.DESK | {"asin": f"B{i:09}"} for i in range(8)]
    folder = public.write(tmp_path, desks, {}, {desk["asin"]: wishes for desk in desks})
    ends = {}
    for compat in (False, True):
        env = make(folder, compat=compat)
        for seed in range(20):
            env.reset(seed=seed)
            wish = env.goal.instruction
            while env.legal_actions:
                _, reward, *_, info = env.step(oracle_answer(env))
            ends[compat, wish] = info["ceiling"], reward, info["r_option"]
    # The desk's own title repeats no noun; one of two options and all else: 3 of 4 pieces.
    assert ends == {
        (False, "a small one"): (1, 1, 1),
        (True, "a small one"): (1, 1, 1),
        (True, "a huge one"): (0.75, 0.75, 0.5),
    }


@needs_excerpt
def test_the_excerpt_can_be_played(tmp_path):
    products = [raw(record) for record in records()]
    asked = json.loads((FOLDER / "items_ins_v2_1000.json").read_text(encoding="utf-8"))
    folder = public.write(tmp_path, products, asked)
    env = make(folder, "WebShopFull-v0")
    won = 0
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        assert 0 < info["ceiling"] <= 1
        ceiling = info["ceiling"]
        while env.legal_actions:
            observation, reward, terminated, _, info = env.step(oracle_answer(env))
            assert observation in env.observation_space
        won += terminated and reward == pytest.approx(ceiling)
    assert won >= 95


@pytest.mark.parametrize("compat", ["false", "yes", 2, None])
def test_compat_is_a_bool(compat):
    with pytest.raises(ValueError, match=r"compat .* is unknown; choose one of"):
        WebShopEnv("WebShop-v0", compat=compat)


@pytest.mark.parametrize("catalogue", [3, b"files", ["files"]])
def test_a_catalogue_is_a_path(catalogue):
    with pytest.raises(ValueError, match="the catalogue is a path, got "):
        WebShopEnv("WebShop-v0", catalogue=catalogue)
