"""What an episode of every id promises: info, texts, groups, copies, splits."""

import copy
import json
import math
import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS
from ragen_envs.registration import load_class
from tests.cases import examples, first_fast
from tests.ragen_envs.playing import oracle, play
from tests.ragen_envs.support import ID_FORMATS, ID_SPLITS, IDS, held_out_size, make, state_in


@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_info_has_what_it_promises(id_, split):
    env = make(id_, split=split, oracle_info=True)
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
    for seed in range(3):
        told = play(env, seed, random_answer)
        infos = [said[-1] for said in told]
        for own in set(infos[0]) - common:
            assert f"`{own}`" in type(env).__doc__
        for info in infos:
            assert set(info) == set(infos[0]) >= common
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
    env = make(id_, split=split, oracle_info=True)
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


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("form", first_fast(RESPONSE_FORMATS))
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
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
        firsts = [env.reset(seed=seed, options={"noise_seed": j}) for j in range(8)]
        assert firsts == [firsts[0]] * 8
        assert env.reset(seed=seed) == firsts[0]


@pytest.mark.parametrize("id_", IDS)
def test_rollouts_of_a_group_differ_in_the_noise_alone(id_):
    env = make(id_, split="val")

    def rewards_and_states(seed, rollout):
        env.reset(seed=seed, options={"noise_seed": rollout})
        said = env.step(oracle_answer(env))
        return said[0], said[1]

    for seed in range(5):
        outcomes = {rewards_and_states(seed, rollout) for rollout in range(40)}
        assert (len(outcomes) > 1) == env.stochastic
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
            env.step(random_answer(env, RandomStream("copy", seed)))
        twin = copied(env)
        stream, twins = RandomStream("on", seed), RandomStream("on", seed)
        assert twin.render() == env.render()
        while env.legal_actions:
            assert twin.legal_actions == env.legal_actions
            assert twin.step(random_answer(twin, twins)) == env.step(random_answer(env, stream))
        assert not twin.legal_actions
        assert twin.reset() == env.reset()


@pytest.mark.parametrize("id_", IDS)
def test_interleaved_environments_leave_each_other_alone(id_):
    def episode(env, seed):
        stream = RandomStream("interleaved", seed)
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
    env.step(random_answer(env, RandomStream(0)))
    assert play(env, 3, random_answer) == play(make(id_), 3, random_answer)


@pytest.mark.parametrize("id_", IDS)
def test_splits_and_variants_of_one_seed_differ(id_):
    envs = [make(id_, split=split) for split in ("train", "val", "test")]
    firsts, seconds = ({state_in(env.reset(seed=n)[0]) for env in envs} for n in range(2))
    # The first observation of a game that hides its instance is always the same.
    assert len(firsts) == (1 if firsts == seconds else 3)


@pytest.mark.slow
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
        load_class(id_)("X-v0")
    with pytest.raises(ValueError, match=r"unknown reset options \['level'\]"):
        make(id_).reset(seed=0, options={"level": 1})
