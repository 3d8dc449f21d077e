"""`TextVectorEnv` against Gymnasium's `SyncVectorEnv` and against environments stepped alone."""

import contextlib
import copy
import io
import pickle
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers.vector import DictInfoToList
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragen_envs.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.vector import TextVectorEnv
from tests.ragen_envs.support import IDS, make

DOCS = Path(__file__).parents[2] / "docs" / "vector.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
MODES = list(AutoresetMode)
SOKOBAN = "ragen/Sokoban-v0"


def vector(id_=SOKOBAN, num_envs=3, mode=AutoresetMode.NEXT_STEP, **kwargs):
    return gymnasium.make_vec(id_, num_envs=num_envs, autoreset_mode=mode, **kwargs)


def sync(id_=SOKOBAN, num_envs=3, mode=AutoresetMode.NEXT_STEP, **kwargs):
    return gymnasium.make_vec(
        id_,
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **kwargs,
    )


def assert_same(got, expected):
    """Compare what `reset` or `step` returned, dtypes included."""
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            assert_same(got[key], expected[key])
    elif isinstance(expected, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.tolist() == expected.tolist()
    elif isinstance(expected, tuple):
        assert type(got) is tuple
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
    else:
        assert type(got) is type(expected)
        assert got == expected


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

    def reset(seed, rollout):
        note(env.reset(seed=seed, options=None if rollout is None else {"rollout": rollout}))

    reset(*first)
    for move in moves:
        if isinstance(move, tuple):
            reset(*move)
            continue
        _, _, terminations, truncations, _ = note(env.step(worded(env, move)))
        over = terminations | truncations
        if mode is AutoresetMode.DISABLED and over.any():
            seed = [int(i) for i in np.arange(len(over)) + 7]
            note(env.reset(seed=seed, options={"reset_mask": over, "rollout": 2}))
    return told, copies


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
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
    told = env.reset(seed=[9, 1, 9, 4, 5], options={"rollout": rollouts})[0]
    for i, (one, seed) in enumerate(zip(alone, [9, 1, 9, 4, 5], strict=True)):
        assert told[i] == one.reset(seed=seed, options={"rollout": rollouts[i]})[0]
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_envs", [1, 3])
def test_what_make_vec_gives(mode, num_envs):
    env = vector("ragen_envs:" + SOKOBAN, num_envs, mode, split="test", response_format="plain")
    assert type(env) is TextVectorEnv
    assert env.num_envs == num_envs
    assert env.metadata == {"render_modes": ["ansi"], "render_fps": 1, "autoreset_mode": mode}
    assert env.spec.id == SOKOBAN
    reference = sync(num_envs=num_envs)
    assert env.single_observation_space == reference.single_observation_space
    assert env.observation_space == reference.observation_space
    assert env.action_space == reference.action_space
    observations, _ = env.reset(seed=3)
    assert observations in env.observation_space
    again = gymnasium.make_vec(env.spec)
    assert again.num_envs == num_envs
    assert again.metadata == env.metadata
    assert_same(again.reset(seed=3)[0], observations)
    assert repr(env) == f"TextVectorEnv({SOKOBAN}, num_envs={num_envs})"


def test_a_mode_may_be_given_by_its_value():
    assert vector(mode="SameStep").metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="'Sometimes' is not a valid AutoresetMode"):
        vector(mode="Sometimes")


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


@pytest.mark.parametrize(
    ("env_fns", "error", "message"),
    [
        ([], ValueError, "num_envs >= 1"),
        (
            [lambda: TimeLimit(make("Sokoban-v0"), 3)],
            TypeError,
            r"is not a TextEnv: put wrapped .*Sync",
        ),
        ([lambda: make("Sokoban-v0"), lambda: make("Bandit-v0")], ValueError, "spaces differ"),
    ],
)
def test_environments_that_do_not_fit_are_refused(env_fns, error, message):
    with pytest.raises(error, match=message):
        TextVectorEnv(env_fns)


@pytest.mark.parametrize("num_envs", [0, -1])
def test_at_least_one_environment(num_envs):
    with pytest.raises(ValueError, match="at least one environment: num_envs >= 1"):
        vector(num_envs=num_envs)


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (["Up"], ValueError, "3 environments need as many answers, got 1"),
        (["Up"] * 4, ValueError, "3 environments need as many answers, got 4"),
        ("Up!", TypeError, "one str for each environment, got a single str"),
        (["Up", b"Up", None], TypeError, "got bytes for environment 1"),
        (["Up", "Up", None], TypeError, "got NoneType for environment 2"),
        (np.array([0, 1, 2]), TypeError, "got int64 for environment 0"),
    ],
)
def test_bad_answers_are_refused_and_step_nothing(actions, error, message):
    env = vector(response_format="plain")
    env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.step(actions)
    assert env.step(["Up"] * 3)[4]["turn"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("as_", [tuple, iter, np.array, lambda texts: np.array(texts, object)])
def test_answers_come_in_any_container(as_):
    env = vector(response_format="plain")
    env.reset(seed=0)
    expected = env.step(["Up", "Down", "Left"])
    env.reset(seed=0)
    assert_same(env.step(as_(["Up", "Down", "Left"])), expected)


@pytest.mark.parametrize("mode", MODES)
def test_step_needs_a_reset_of_all(mode):
    env = vector(mode=mode)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(["Up"] * 3)
    with pytest.raises(ResetNeeded, match=r"first reset\(\) is of all environments"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(options={"reset_mask": np.array([True, True, True])})
    env.step(["Up"] * 3)


def test_a_disabled_autoreset_says_which_are_over():
    env = vector("ragen/Bandit-v0", 3, AutoresetMode.DISABLED, response_format="plain")
    env.reset(seed=0)
    env.step(["x", "y", "z"])
    only = np.array([False, True, False])
    env.reset(seed=[None, 5, None], options={"reset_mask": only})
    with pytest.raises(ResetNeeded, match=r"environments \[0, 2\] are over: call reset\(options="):
        env.step(["x", "y", "z"])
    options = {"reset_mask": ~only}
    env.reset(options=options)
    assert list(options) == ["reset_mask"]  # Gymnasium's would take it out
    env.step(["x", "y", "z"])


def test_the_answer_of_an_environment_that_is_reset_may_be_anything():
    env = vector("ragen/Bandit-v0", 2, response_format="plain")
    env.reset(seed=0)
    env.step(["x", "y"])
    assert env.step([None, 3])[4]["turn"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"seed": [1, 2]}, ValueError, "3 environments need as many seeds, got 2"),
        ({"seed": True}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": [1, 2, True]}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": 1 << 63}, ValueError, r"seeds are below 2\*\*63"),
        ({"seed": -9}, gymnasium.error.Error, "a seed is an int of at least 0, got -9"),
        ({"seed": [5, 6, -1]}, gymnasium.error.Error, "a seed is an int of at least 0, got -1"),
        ({"seed": "abc"}, gymnasium.error.Error, "a seed is an int of at least 0, got 'abc'"),
        ({"seed": np.array(5.0)}, gymnasium.error.Error, "a seed is an int of at least 0"),
        ({"options": "abc"}, TypeError, "the options of reset are a dictionary, got 'abc'"),
        ({"options": []}, TypeError, r"the options of reset are a dictionary, got \[\]"),
        ({"options": {"level": 1}}, ValueError, r"unknown reset options \['level'\]; there are"),
        ({"options": {"rollout": -1}}, ValueError, "'rollout' is an int of at least 0, got -1"),
        ({"seed": 5, "options": {"rollout": [1, 2, "3"]}}, ValueError, "at least 0, got '3'"),
        ({"options": {"rollout": [1, 2]}}, ValueError, "need as many rollouts, got 2"),
        ({"options": {"rollout": []}}, ValueError, "need as many rollouts, got 0"),
        ({"options": {"reset_mask": [True] * 3}}, TypeError, "'reset_mask' is an array of bool"),
        ({"options": {"reset_mask": np.ones(3)}}, TypeError, "'reset_mask' is an array of bool"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, r"has shape \(3,\)"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, ValueError, "at least one True"),
    ],
)
def test_bad_resets_say_what_is_possible_and_reset_nothing(kwargs, error, message):
    env, twin = (vector(response_format="plain") for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(error, match=message):
        env.reset(**kwargs)
    assert_same(env.step(["Up", "Down", "Left"]), twin.step(["Up", "Down", "Left"]))
    assert_same(env.reset(), twin.reset())


def test_after_a_reset_that_failed_midway_nothing_is_played(monkeypatch):
    env = vector(response_format="plain")
    env.reset(seed=0)
    monkeypatch.setattr(env.envs[1], "instance_of", lambda seed: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        env.reset(seed=7)
    monkeypatch.undo()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(["Up"] * 3)
    assert_same(env.reset(seed=7), vector(response_format="plain").reset(seed=7))


@pytest.mark.parametrize(
    "seed",
    [
        np.int64(4),
        (4, 5, 6),
        np.array([4, 5, 6]),
        range(4, 7),
        [np.uint8(4), 5, np.int64(6)],
    ],
)
def test_seeds_of_numpy_and_of_sequences(seed):
    env = vector()
    assert_same(env.reset(seed=seed), env.reset(seed=4))


def test_seeds_and_rollouts_of_one_environment_each():
    env = vector("ragen/FrozenLake-v0", 4, split="val", response_format="plain")
    rollouts = [np.int64(0), 1, 0, np.uint8(0)]
    expected = env.reset(seed=[3, 3, 9, 3], options={"rollout": rollouts})
    _, infos = env.reset(seed=[3, 3, 9, 3], options={"rollout": np.array([0, 1, 0, 0])})
    assert_same(infos, expected[1])
    assert infos["index"].tolist() == [3, 3, 9, 3]
    assert len(set(infos["instance"].tolist())) == 2
    assert infos["_index"].all()
    told = env.step(["Up || Up || Up || Up"] * 4)[0]
    assert told[0] == told[3]


def test_a_masked_reset_leaves_the_others():
    env = vector(
        "ragen/Sokoban-v0", 3, AutoresetMode.DISABLED, split="val", response_format="plain"
    )
    before, _ = env.reset(seed=0)
    stepped = env.step(["Up", "Down", "Left"])[0]
    after, infos = env.reset(seed=0, options={"reset_mask": np.array([False, True, False])})
    assert after == (stepped[0], before[1], stepped[2])
    assert infos["instance"].tolist()[::2] == [None, None]
    assert infos["_turn"].tolist() == [False, True, False]
    assert env.step(["Up"] * 3)[4]["turn"].tolist() == [2, 1, 2]


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


def test_closing_twice_and_what_is_refused_afterwards():
    env = vector()
    env.reset(seed=0)
    env.close()
    env.close()
    for act in (env.reset, lambda: env.step(["Up"] * 3)):
        with pytest.raises(ClosedEnvironmentError, match="is closed: make a new one"):
            act()


def test_call_and_attributes():
    env = vector(response_format="plain", split="test")
    env.reset(seed=0)
    assert [len(names) for names in env.call("best_actions")] == [
        min(5, int(length)) for length in env.reset(seed=0)[1]["optimal_length"]
    ]
    assert env.get_attr("turns_left") == (5, 5, 5)
    env.set_attr("response_format", ["plain", "answer", "think"])
    assert env.get_attr("response_format") == ("plain", "answer", "think")
    assert env.step(["Up"] * 3)[4]["format_is_valid"].tolist() == [True, False, False]
    env.set_attr("response_format", "plain")
    assert env.get_attr("response_format") == ("plain",) * 3
    with pytest.raises(ValueError, match="3 environments need as many values, got 2"):
        env.set_attr("response_format", ["plain"] * 2)
    with pytest.raises(ValueError, match=r"call reset\(\) of the vector environment"):
        env.call("reset")
    with pytest.raises(AttributeError):
        env.get_attr("nothing")


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


def test_wrappers_of_single_environments_go_with_mode_sync():
    env = sync(
        response_format="plain",
        wrappers=[RecordEpisodeStatistics, lambda env: TimeLimit(env, max_episode_steps=2)],
    )
    env.reset(seed=0)
    env.step(["x"] * 3)
    _, _, _, truncations, infos = env.step(["x"] * 3)
    assert truncations.all()
    assert infos["turn"].tolist() == [2, 2, 2]


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_the_examples_of_the_docs(code, printed):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == printed


def test_there_are_two_examples():
    assert len(EXAMPLES) == 2
