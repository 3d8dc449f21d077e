"""`TextVectorEnv` plays as Gymnasium's `SyncVectorEnv` does, and as environments stepped alone."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.core.vector import TextVectorEnv
from tests.cases import examples
from tests.ragen_envs.support import IDS, make
from tests.ragen_envs.vectors import MODES, assert_same, sync, vector

words = st.sampled_from(["Up", "down", "LEFT", "Right", "Blue", "ACTION", "fly", ""])
bodies = st.lists(words, max_size=4).map(" || ".join)
forms = st.sampled_from(["{}", "<answer>{}</answer>", "<think>so</think><answer>{}</answer>"])
hostile = st.text(st.characters(exclude_categories=()), max_size=12) | st.just("<think>" * 500)
answers = st.builds(lambda form, body: form.replace("{}", body), forms, bodies) | hostile
legal = st.integers(0, 99)
"""The number of a legal action."""
seeds = st.none() | st.integers(0, 400)


@st.composite
def plays(draw):
    """Draw a number of environments and what is done with them: answers, or a reset (None)."""
    n = draw(st.integers(1, 4))
    rows = st.lists(answers | legal, min_size=n, max_size=n)
    listed = st.lists(seeds, min_size=n, max_size=n)
    rollouts = st.none() | st.integers(0, 9)
    first = st.tuples(st.integers(0, 400), rollouts)  # without a seed no two would begin alike
    reset = st.tuples(seeds | listed, rollouts)
    return n, draw(first), draw(st.lists(st.one_of(rows, rows, rows, rows, reset), max_size=14))


def worded(env, move):
    """Return the answers of a move, in which a number names one of the actions that are legal."""
    forms, offered = env.get_attr("response_format"), env.get_attr("legal_actions")
    return [
        format_answer(names[said % len(names) :][:1], form) if isinstance(said, int) else said
        for said, form, names in zip(move, forms, [n or ("",) for n in offered], strict=True)
    ]


def replay(env, mode, first, moves):
    """Play, and return all that came back and copies of it made at the time."""
    told, copies = [], []

    def note(got):
        told.append(got)
        copies.append(copy.deepcopy(got))
        return got

    def reset(seed, noise_seed):
        note(
            env.reset(seed=seed, options=None if noise_seed is None else {"noise_seed": noise_seed})
        )

    reset(*first)
    for move in moves:
        if isinstance(move, tuple):
            reset(*move)
            continue
        _, _, terminations, truncations, _ = note(env.step(worded(env, move)))
        over = terminations | truncations
        if mode is AutoresetMode.DISABLED and over.any():
            seed = [int(i) for i in np.arange(len(over)) + 7]
            note(env.reset(seed=seed, options={"reset_mask": over, "noise_seed": 2}))
    return told, copies


@pytest.mark.slow
@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(IDS),
    st.sampled_from(MODES),
    st.sampled_from(RESPONSE_FORMATS),
    st.sampled_from(["train", "val", "test"]),
    plays(),
)
def test_it_does_what_the_sync_vector_env_does(id_, mode, form, split, play):
    n, first, moves = play
    kwargs = {"split": split, "response_format": form, "render_mode": "ansi"}
    ours, reference = vector(id_, n, mode, **kwargs), sync(id_, n, mode, **kwargs)
    told, copies = replay(ours, mode, first, moves)
    expected, _ = replay(reference, mode, first, moves)
    assert_same(tuple(told), tuple(expected))
    assert_same(tuple(told), tuple(copies))  # nothing changed after it was returned
    assert ours.render() == reference.render()
    assert_same(ours.get_attr("legal_actions"), reference.get_attr("legal_actions"))
    assert ours.np_random_seed == reference.np_random_seed
    assert [g.random() for g in ours.np_random] == [g.random() for g in reference.np_random]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("id_", ["ragen/Sokoban-v0", "ragen/FrozenLake-v0"])
def test_environments_that_end_at_different_times(id_, mode):
    kwargs = {"split": "val", "response_format": "plain"}
    moves = [["Up || Up || Up || Up || Up", "x", "Up || Up || Up", "Down"]] * 30
    told, _ = replay(vector(id_, 4, mode, **kwargs), mode, (3, 1), moves)
    expected, _ = replay(sync(id_, 4, mode, **kwargs), mode, (3, 1), moves)
    assert_same(tuple(told), tuple(expected))
    counts = {int((got[2] | got[3]).sum()) for got in told if len(got) == 5}
    assert counts & {1, 2, 3}


@pytest.mark.parametrize("id_", IDS)
def test_each_text_is_that_of_its_own_environment(id_):
    env = vector(id_, 5, AutoresetMode.DISABLED, split="val", response_format="plain")
    alone = [make(id_, split="val", response_format="plain") for _ in range(5)]
    rollouts = [4, 0, 9, 4, 1]
    told = env.reset(seed=[9, 1, 9, 4, 5], options={"noise_seed": rollouts})[0]
    for i, (one, seed) in enumerate(zip(alone, [9, 1, 9, 4, 5], strict=True)):
        assert told[i] == one.reset(seed=seed, options={"noise_seed": rollouts[i]})[0]
    for turn in range(alone[0].budget.max_turns):
        names = [
            one.legal_actions[(i + turn) % len(one.legal_actions)] for i, one in enumerate(alone)
        ]
        told, rewards, terminations, truncations, infos = env.step(names)
        for i, (one, name) in enumerate(zip(alone, names, strict=True)):
            observation, reward, terminated, truncated, info = one.step(name)
            assert (told[i], rewards[i]) == (observation, reward)
            assert (terminations[i], truncations[i]) == (terminated, truncated)
            assert {key: infos[key][i] for key in info} == info
        if (terminations | truncations).any():
            return
    raise AssertionError("no episode ended within the turns of the budget")


@pytest.mark.parametrize("as_", [tuple, iter, np.array, lambda texts: np.array(texts, object)])
def test_answers_come_in_any_container(as_):
    env = vector(response_format="plain")
    env.reset(seed=0)
    expected = env.step(["Up", "Down", "Left"])
    env.reset(seed=0)
    assert_same(env.step(as_(["Up", "Down", "Left"])), expected)


def test_the_answer_of_an_environment_that_is_reset_may_be_anything():
    env = vector("ragen/Bandit-v0", 2, response_format="plain")
    env.reset(seed=0)
    env.step(["x", "y"])
    assert env.step([None, 3])[4]["turn"].tolist() == [0, 0]


def test_changed_results_change_nothing_else():
    env, other = vector(response_format="plain"), vector(response_format="plain")
    env.reset(seed=0)
    other.reset(seed=0)
    for _ in range(9):
        told, expected = env.step(["Up", "Left", "x"]), other.step(["Up", "Left", "x"])
        assert_same(told, expected)
        for array in (*told[1:4], *told[4].values()):
            array[:] = 0
        told[4].clear()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_a_copy_continues_alike_and_alone(mode, copied):
    env = vector("ragen/FrozenLake-v0", 3, mode, response_format="plain")
    env.reset(seed=0)
    env.step(["Up", "Down", "Left"])
    twin, later = copied(env), copied(env)
    told = [env.step(["no"] * 3) for _ in range(4)]
    assert_same(tuple(twin.step(["no"] * 3) for _ in range(4)), tuple(told))
    assert_same(later.step(["no"] * 3), told[0])


@pytest.mark.parametrize("mode", MODES)
def test_vector_wrappers_see_what_they_see_of_the_sync_vector_env(mode):
    def play(env):
        env = RecordVectorStatistics(env)
        env.reset(seed=0)
        for _ in range(4 if mode is AutoresetMode.DISABLED else 12):
            infos = env.step(["Up || Left", "Down", "x"])[-1]
            for key in ("episode", "final_info"):
                if "t" in infos.get(key, {}):
                    infos[key].pop("t")  # seconds
            yield infos

    kwargs = {"response_format": "plain"}
    told, expected = (list(play(make_(mode=mode, **kwargs))) for make_ in (vector, sync))
    assert_same(tuple(told), tuple(expected))
    listed = DictInfoToList(vector(**kwargs)).reset(seed=0)[1]
    assert listed == DictInfoToList(sync(**kwargs)).reset(seed=0)[1]


def test_games_of_several_ids_may_share_a_batch():
    env_fns = [
        lambda: make("Bandit-v0", response_format="plain"),
        lambda: make("SokobanNewVocab-v0", response_format="plain"),
    ]
    ours, reference = TextVectorEnv(env_fns), SyncVectorEnv(env_fns)
    moves = [["Up", "Up"], ["no", "Down"], ["Up", "Left"]]
    told, _ = replay(ours, AutoresetMode.NEXT_STEP, (5, None), moves)
    expected, _ = replay(reference, AutoresetMode.NEXT_STEP, (5, None), moves)
    assert_same(tuple(told), tuple(expected))
    assert told[-1][-1]["_optimal_length"].tolist() == [False, True]
