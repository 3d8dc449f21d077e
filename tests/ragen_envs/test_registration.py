"""What every id of the table promises."""

import copy
import hashlib
import json
import math
import os
import pickle
import random
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragen_envs
from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer
from ragen_envs.registration import (
    OPPONENT_TABLE,
    TABLE,
    env_class,
    made_class,
    opponent_class,
)
from tests.ragen_envs.support import ID_FORMATS, ID_SPLITS, IDS, held_out_size, make, state_in

ROOT = Path(ragen_envs.__file__).parent.parent


def test_the_ids():
    assert ragen_envs.IDS == (
        "ragen/Bandit-v0",
        "ragen/BanditRev-v0",
        "ragen/BanditMultiPull-v0",
        "ragen/Sokoban-v0",
        "ragen/SokobanLarge-v0",
        "ragen/SokobanNewVocab-v0",
        "ragen/SokobanCoord-v0",
        "ragen/FrozenLake-v0",
        "ragen/FrozenLakeMild-v0",
        "ragen/FrozenLakeLarge-v0",
        "ragen/FrozenLakeNewVocab-v0",
        "ragen/FrozenLakeCoord-v0",
        "ragen/WebShop-v0",
        "ragen/WebShopFull-v0",
        "ragen/WebShopText-v0",
        "ragen/TwentyQuestions-v0",
        "ragen/TwentyQuestionsNewCategories-v0",
    )
    registered = {id_ for id_ in gymnasium.registry if id_.startswith("ragen/")}
    assert registered == {*IDS, *ragen_envs.OPPONENT_IDS}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_names_the_class_and_its_variant(name):
    cls = env_class(name)
    assert cls.variants[name].name == name
    env = make(name)
    assert type(env) is cls
    assert env.variant is cls.variants[name]
    assert env.spec.id == f"ragen/{name}"


def test_every_variant_of_a_class_is_in_the_table():
    for name in TABLE:
        assert set(env_class(name).variants) <= set(TABLE)


def test_games_with_an_opponent_are_in_a_table_of_their_own():
    assert set(OPPONENT_TABLE).isdisjoint(TABLE)
    for name in OPPONENT_TABLE:
        made = make(name, answerer=str)
        assert type(made) is made_class(name)
        assert isinstance(made, opponent_class(name))
        assert made.variant is opponent_class(name).variants[name]
        assert made.variant.name == name
    for name in TABLE:
        assert made_class(name) is env_class(name)


@pytest.mark.parametrize(
    ("class_of", "name"),
    [
        (env_class, "Chess-v0"),
        (env_class, *OPPONENT_TABLE),
        (opponent_class, "Sokoban-v0"),
        (made_class, "Chess-v0"),
    ],
)
def test_an_unknown_name_is_a_key_error(class_of, name):
    with pytest.raises(KeyError):
        class_of(name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_check_env_has_nothing_to_say(id_, split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(id_, split=split))
        check_env(make(id_, split=split, render_mode="ansi", response_format="plain"))


def digest_of_firsts(id_, split, seeds=range(25)):
    env = make(id_, split=split)
    text = "\0".join(env.reset(seed=seed)[0] for seed in seeds)
    return hashlib.sha256(text.encode()).hexdigest()


PROBE = """
import hashlib, json, random, sys
import numpy
if {seed} is not None:
    random.seed({seed})
    numpy.random.seed({seed})
import gymnasium
import ragen_envs
before = random.getstate(), numpy.random.get_state()[1].tolist()
digests = {{}}
for id_ in ragen_envs.IDS:
    for split in ("train", "val", "test"):
        env = gymnasium.make(id_, split=split).unwrapped
        text = "\\0".join(env.reset(seed=seed)[0] for seed in range(25))
        digests[id_ + " " + split] = hashlib.sha256(text.encode()).hexdigest()
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before
        if {seed} is not None:
            random.random()
            numpy.random.random()
            before = random.getstate(), numpy.random.get_state()[1].tolist()
        env.reset()
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before
print(json.dumps(digests))
"""


def test_first_observations_are_equal_in_other_processes():
    found = []
    for hash_seed, seed in (("0", None), ("1", 7), ("4242", 8)):
        ran = subprocess.run(
            [sys.executable, "-c", PROBE.format(seed=seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        found.append(json.loads(ran.stdout))
    here = {f"{id_} {split}": digest_of_firsts(id_, split) for id_, split in ID_SPLITS}
    assert found == [here] * 3
    # All of BanditMultiPull look alike at first, in all three splits, and all of both games of
    # Twenty Questions.
    assert len(set(here.values())) == len(ID_SPLITS) - 2 - 5


def test_first_observations_are_equal_in_threads():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(digest_of_firsts, *zip(*ID_SPLITS * 2, strict=True)))
    assert found == [digest_of_firsts(id_, split) for id_, split in ID_SPLITS] * 2


@pytest.mark.parametrize("name", ["Sokoban-v0", "WebShop-v0"])
def test_a_clean_process_imports_little(name):
    code = (
        "import sys, gymnasium\n"
        f"env = gymnasium.make('ragen_envs:ragen/{name}', split='test')\n"
        "print(len(env.reset(seed=0)[0]))\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}\n"
        "    & {'torch', 'transformers', 'ragen_bench', 'ragen_starpo', 'rich', 'jinja2',\n"
        "       'bm25s', 'rapidfuzz', 'spacy'}))\n"
        "print(*(name for name in sys.modules if name.startswith('ragen_envs.webshop')))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    length, imported, of_the_shop = ran.stdout.split("\n")[:3]
    assert int(length) == len(make(name, split="test").reset(seed=0)[0])
    assert imported == ""
    assert bool(of_the_shop) == ("WebShop" in name)


def play(env, seed, policy, rollout=0):
    """Play one episode; return everything that was said."""
    stream = Stream("player", seed)
    told = [env.reset(seed=seed, options={"rollout": rollout})]
    while env.legal_actions:
        told.append(env.step(policy(env, stream)))
    return told


def oracle(env, stream):
    return oracle_answer(env)


@pytest.mark.parametrize("id_", IDS)
def test_episodes_neither_read_nor_write_the_global_generators(id_):
    told = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = random.getstate(), np.random.get_state()[1].tolist()
        env = make(id_)
        env.reset(seed=3)
        told.append([env.reset()])
        for policy in (random_answer, oracle):
            told[-1] += play(env, 5, policy)
        told[-1] += play(make(id_, split="val"), 5, random_answer)
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert told[0] == told[1]


GOLDEN = {
    "ragen/Bandit-v0": "626a5ac172039588",
    "ragen/BanditRev-v0": "cc3c586c811a558f",
    "ragen/BanditMultiPull-v0": "c946dd880ad730db",
    "ragen/Sokoban-v0": "a92fd57de1b65c85",
    "ragen/SokobanLarge-v0": "99bd88847f66e6f7",
    "ragen/SokobanNewVocab-v0": "24353d83ca0ced46",
    "ragen/SokobanCoord-v0": "4420be4651f7a00e",
    "ragen/FrozenLake-v0": "59967efb09379d94",
    "ragen/FrozenLakeMild-v0": "c467082308591183",
    "ragen/FrozenLakeLarge-v0": "a344a922a70061a8",
    "ragen/FrozenLakeNewVocab-v0": "3037df1f89ac5b36",
    "ragen/FrozenLakeCoord-v0": "2a26754d23691bf4",
    "ragen/WebShop-v0": "4707dacabe806fbf",
    "ragen/WebShopFull-v0": "811b163f3d94540c",
    "ragen/WebShopText-v0": "046d177a01075e6e",
    "ragen/TwentyQuestions-v0": "98670692c5ef988c",
    "ragen/TwentyQuestionsNewCategories-v0": "927b89c93ddd4c91",
}


def golden(id_):
    """Return the digest of what an id says: levels, rules, prompts, rewards, noise and figures."""
    told = []
    for split in ("train", "val", "test"):
        for form in ("think", "answer", "plain"):
            env = make(id_, split=split, response_format=form)
            for seed in range(6):
                told += play(env, seed, random_answer if seed < 4 else oracle, rollout=seed)
    for said in told:
        said[-1]["ceiling"] = f"{said[-1]['ceiling']:.6f}"  # beyond, libraries may round apart
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


@pytest.mark.parametrize("id_", IDS)
def test_an_id_never_changes_silently(id_):
    """A change here is a new version of the id (-v1), unless the id was never released."""
    assert golden(id_) == GOLDEN[id_]


@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_info_has_what_it_promises(id_, split):
    env = make(id_, split=split)
    common = {
        "success",
        "score",
        "format_is_valid",
        "action_is_valid",
        "action_is_effective",
        "answer_is_example",
        "legal_actions",
        "turn",
        "actions_left",
        "instance",
        "index",
        "ceiling",
    }
    figures = {
        "Bandit": set(),
        "WebShop": {"r_type", "r_att", "r_option", "r_price", "title_score"},
        "TwentyQuestions": {"questions", "repeats", "unparsed"},
    }.get(re.match(r"ragen/(Bandit|WebShop|TwentyQuestions|)", id_)[1], {"optimal_length"})
    for seed in range(3):
        told = play(env, seed, random_answer)
        infos = [said[-1] for said in told]
        for info in infos:
            assert set(info) == common | figures
            assert info["index"] == seed
            assert info["instance"] == infos[0]["instance"]
            assert info["ceiling"] == infos[0]["ceiling"]
            assert 0 < info["ceiling"] <= 1
            assert 0 <= info["score"] <= 1
            assert type(info["success"]) is bool
            assert type(info["action_is_effective"]) is bool
            assert type(info["action_is_valid"]) is bool
            assert len(info["instance"]) == 16
            json.dumps(info)
        assert [info["turn"] for info in infos] == list(range(len(infos)))
        assert [bool(info["legal_actions"]) for info in infos] == [True] * (len(infos) - 1) + [
            False
        ]
        assert infos[0]["actions_left"] == env.budget.max_actions


@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_no_observation_gives_the_oracle_away(id_, split):
    env = make(id_, split=split)
    for said in play(env, 0, random_answer):
        observation, info = said[0], said[-1]
        assert info["instance"] not in observation
        assert "optimal" not in observation.lower()
        assert "ceiling" not in observation.lower()
        assert str(info["ceiling"]) not in observation or info["ceiling"] == 1.0


@pytest.mark.parametrize(("id_", "form"), ID_FORMATS)
def test_the_first_observation_repeats_nowhere(id_, form):
    env = make(id_, split="val", response_format=form)
    told = play(env, 0, random_answer)
    rules = told[0][0].split("\n\n")[0]
    assert len(told[0][0].split("\n\n")) == 3
    assert all(rules not in said[0] and "exactly this form" not in said[0] for said in told[1:])


@pytest.mark.parametrize(("id_", "form"), ID_FORMATS)
def test_the_shown_example_is_flagged_and_never_an_action(id_, form):
    env = make(id_, split="test", response_format=form)
    for seed in range(64):
        first, info = env.reset(seed=seed)
        shown = first.splitlines()[-1]
        words = {word.lower() for word in (*env.example.split(" || "), "reasoning")}
        assert words.isdisjoint(name.lower() for name in info["legal_actions"])
        _, reward, _, _, info = env.step(shown)
        assert info["answer_is_example"]
        assert info["format_is_valid"]
        assert not info["action_is_valid"]
        assert not info["action_is_effective"]
        assert not info["success"]
        assert reward == (0 if "WebShop" in id_ else -0.1)


tags = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "<", "</", "||", " || "])
legal_words = st.sampled_from(
    [
        "Up", "down", "LEFT", "Right", "Blue", "Purple", "ACTION", "Wait",
        "search[", "]", "search[Desk lamp]", "Click[Back to search]", "click[< prev]",
    ]
)  # fmt: skip
odd_text = st.text(st.characters(exclude_categories=()), max_size=30)
mixed = st.lists(tags | legal_words | odd_text, max_size=20).map("".join)
huge = st.tuples(mixed, st.integers(1, 3000)).map(lambda t: t[0] * t[1])
wrapped = (mixed | huge).map(lambda text: f"<think>{text[:9]}</think><answer>{text}</answer>")
hostile = st.one_of(
    odd_text,
    mixed,
    huge,
    wrapped,
    st.sampled_from(
        [
            "",
            "\x00",
            "\x00" * 5000,
            "\ud800\udfff",
            "√" * 5000,
            "<think>" * 5000,
            "</answer>" * 5000,
            "<answer>Up" + " || Up" * 5000 + "</answer>",
            "<think>x</think><answer>" + "Up || Left ||" * 5000 + "</answer>",
            "<think>x</think><answer>search[" + "<b>\x00lamp\u202e" * 1000 + "]</answer>",
            "{}{0}%s%d\\n\\",
            "\u0130" * 100 + "\u017f" * 100,
            "\u202eUp\u200b",
        ]
    ),
)


@pytest.mark.parametrize(("id_", "form"), ID_FORMATS)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(answers=st.lists(hostile, min_size=1, max_size=6), seed=st.integers(0, 255))
def test_every_id_survives_hostile_text(id_, form, answers, seed):
    env = make(id_, split="val", response_format=form)
    env.reset(seed=seed)
    for answer in answers:
        observation, reward, terminated, truncated, info = env.step(answer)
        assert observation in env.observation_space
        assert len(observation) < (2500 if "WebShop" in id_ else 1500)
        assert type(reward) is float
        assert math.isfinite(reward)
        assert type(terminated) is type(truncated) is bool
        assert not (terminated and truncated)
        assert bool(info["legal_actions"]) == (not terminated and not truncated)
        if terminated or truncated:
            env.reset(seed=seed)


@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_observations_lie_in_the_space(id_, split):
    env = make(id_, split=split)
    used = set()
    for seed in range(12):
        for policy in (random_answer, oracle):
            for said in play(env, seed, policy):
                assert said[0] in env.observation_space
                used.update(said[0])
    assert used - set(map(chr, range(128))) <= {"√"}
    assert env.action_space.sample() in env.action_space


@pytest.mark.parametrize("id_", IDS)
def test_rollouts_of_a_group_see_the_same_first(id_):
    env = make(id_, split="val")
    for seed in range(5):
        firsts = [env.reset(seed=seed, options={"rollout": j}) for j in range(8)]
        assert firsts == [firsts[0]] * 8
        assert env.reset(seed=seed) == firsts[0]


NOISY = [id_ for id_ in IDS if not re.search("Sokoban|WebShop|TwentyQuestions", id_)]


@pytest.mark.parametrize("id_", IDS)
def test_rollouts_of_a_group_differ_in_the_noise_alone(id_):
    env = make(id_, split="val")

    def rewards_and_states(seed, rollout):
        env.reset(seed=seed, options={"rollout": rollout})
        said = env.step(oracle_answer(env))
        return said[0], said[1]

    for seed in range(5):
        outcomes = {rewards_and_states(seed, rollout) for rollout in range(40)}
        assert (len(outcomes) > 1) == (id_ in NOISY)
        assert rewards_and_states(seed, 3) == rewards_and_states(seed, 3)


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_in_mid_episode_continues_alike(id_, copied):
    for seed in range(8):
        env = make(id_, render_mode="ansi")
        env.reset(seed=seed)
        answer = "no form" if "Bandit-v0" not in id_ and "Rev" not in id_ else None
        if answer:
            env.step(answer)
        if seed % 2 and answer:
            env.step(random_answer(env, Stream("copy", seed)))
        twin = copied(env)
        stream, twins = Stream("on", seed), Stream("on", seed)
        assert twin.render() == env.render()
        while env.legal_actions:
            assert twin.legal_actions == env.legal_actions
            assert twin.step(random_answer(twin, twins)) == env.step(random_answer(env, stream))
        assert not twin.legal_actions
        assert twin.reset() == env.reset()


@pytest.mark.parametrize("id_", IDS)
def test_interleaved_environments_leave_each_other_alone(id_):
    def episode(env, seed):
        stream = Stream("interleaved", seed)
        yield env.reset(seed=seed)
        while env.legal_actions:
            yield env.step(random_answer(env, stream))

    alone = [list(episode(make(id_), seed)) for seed in range(4)]
    running = [episode(make(id_), seed) for seed in range(4)]
    told = [[] for _ in running]
    for _ in range(25):
        for said, episode_ in zip(told, running, strict=True):
            said += [x for x in [next(episode_, None)] if x is not None]
    assert told == alone


@pytest.mark.parametrize("id_", IDS)
def test_an_environment_forgets_its_last_episode(id_):
    env = make(id_)
    play(env, 1, random_answer)
    env.reset(seed=2)
    env.step(random_answer(env, Stream(0)))
    assert play(env, 3, random_answer) == play(make(id_), 3, random_answer)


@pytest.mark.parametrize("id_", IDS)
def test_splits_and_variants_of_one_seed_differ(id_):
    states = {state_in(make(id_, split=split).reset(seed=0)[0]) for split in ("val", "test")}
    states.add(state_in(make(id_).reset(seed=0)[0]))
    assert len(states) == (1 if re.search("MultiPull|TwentyQuestions", id_) else 3)


@pytest.mark.parametrize("id_", IDS)
def test_the_splits_of_an_id_share_no_instance(id_):
    digests = {
        split: {make_digest for _, make_digest in indexed(make(id_, split=split))}
        for split in ("train", "val", "test")
    }
    assert len(digests["val"]) == len(digests["test"]) == held_out_size(id_)
    assert digests["val"].isdisjoint(digests["test"])
    assert digests["train"].isdisjoint(digests["val"] | digests["test"])


def indexed(env):
    for seed in range(256):
        info = env.reset(seed=seed)[1]
        yield info["index"], info["instance"]


@pytest.mark.parametrize("id_", IDS)
def test_bad_arguments_name_the_choices(id_):
    with pytest.raises(ValueError, match=r"split 'dev' is unknown; choose one of \['train', 'val'"):
        make(id_, split="dev")
    with pytest.raises(ValueError, match=r"response_format 'xml' is unknown; choose one of \['thi"):
        make(id_, response_format="xml")
    with pytest.raises(ValueError, match=r"variant 'X-v0' is unknown; choose one of \['"):
        env_class(id_.partition("/")[2])("X-v0")
    with pytest.raises(ValueError, match=r"unknown reset options \['level'\]"):
        make(id_).reset(seed=0, options={"level": 1})
