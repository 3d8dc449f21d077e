"""What is refused, and what holds for every environment of the bridge."""

import copy
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec

from ragen_envs.pettingzoo import MODES, aec_env, parallel_env
from tests.ragen_envs.support import IDS, make

FORMS = [aec_env, parallel_env]
BOTH = [(form, mode) for form in FORMS for mode in MODES]


def begin(env, **reset):
    """Reset either form; return the first agent's text and info."""
    told = env.reset(**reset)
    if told is None:
        observation, _, _, _, info = env.last()
    else:
        observation, info = told[0]["agent_0"], told[1]["agent_0"]
    return observation["text"], info


def rest_of(env, answers):
    """Play the answers in either form; return all that is told."""
    told = []
    for answer in answers:
        if hasattr(env, "last"):
            if not env.agents:
                break
            told.append(env.last())
            env.step(None if told[-1][2] or told[-1][3] else answer)
        elif env.agents:
            told.append(env.step(dict.fromkeys(env.agents, answer)))
    return told


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "ragen/Nim-v0"}, "id 'ragen/Nim-v0' is unknown; choose one of .*Sokoban-v0"),
        ({"id": "Sokoban-v0"}, "id 'Sokoban-v0' is unknown"),
        ({"mode": "war"}, r"mode 'war' is unknown; choose one of \['shared', 'duel'\]"),
        ({"split": "dev"}, "split 'dev' is unknown"),
        ({"response_format": "xml"}, "response_format 'xml' is unknown"),
        ({"render_mode": "human"}, "render_mode 'human' is unknown"),
        ({"agents": 0}, "at least one agent has to play, got agents=0"),
        ({"agents": -1}, "at least one agent has to play, got agents=-1"),
        ({"agents": []}, r"at least one agent has to play, got agents=\[\]"),
        ({"agents": ["a", "b", "a"]}, r"two agents have the same name: \['a', 'b', 'a'\]"),
        ({"agents": ["a", ""]}, "an agent's name is 1 to 32 of"),
        ({"agents": ["a\nb", "c"]}, "an agent's name is 1 to 32 of"),
        ({"agents": ["a", "b" * 33]}, "an agent's name is 1 to 32 of"),
    ],
)
def test_wrong_values_are_refused(form, arguments, message):
    with pytest.raises(ValueError, match=message):
        form(**{"id": "ragen/Sokoban-v0", **arguments})


@pytest.mark.parametrize("form", FORMS)
def test_wrong_types_are_refused(form):
    for agents in (True, "ann", 2.0, None):
        with pytest.raises(TypeError, match="agents is a number or a list of names, got"):
            form("ragen/Sokoban-v0", agents)
    with pytest.raises(TypeError, match="an agent's name is a str, got 1"):
        form("ragen/Sokoban-v0", ["a", 1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        form("ragen/Sokoban-v0", seed=1)


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_wrong_resets_are_refused(form, mode):
    env = form("ragen/Sokoban-v0", 2, mode)
    with pytest.raises(ValueError, match=r"unknown reset options \['rolout'\]"):
        env.reset(options={"rolout": 1})
    with pytest.raises(ValueError, match="'rollout' is an int of at least 0"):
        env.reset(options={"rollout": -1, "options": 1})
    with pytest.raises(ValueError, match="a seed is an int of at least 0"):
        env.reset(seed=True)


@pytest.mark.parametrize("mode", MODES)
def test_nobody_steps_before_the_start_or_after_the_end(mode):
    env = parallel_env("ragen/Sokoban-v0", 2, mode, render_mode="ansi")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step({"agent_0": "", "agent_1": ""})
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before render\(\)"):
        env.render()
    env.reset(seed=0)
    while env.agents:
        env.step(dict.fromkeys(env.agents, ""))
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step({"agent_0": "", "agent_1": ""})
    aec = aec_env("ragen/Sokoban-v0", 2, mode)
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        aec.step("")
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        aec.agent_iter(len(aec.agents))


def test_the_bare_turns_refuse_the_same():
    env = aec_env("ragen/Sokoban-v0", 2).unwrapped
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step("")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an answer is a str, got int of agent_0"):
        env.step(3)
    for _ in range(5):
        env.step("")
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step("Up")
    env.step(None)
    env.step(None)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step(None)


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_step_leaves_the_game_as_it_was(mode):
    env, twin = (parallel_env("ragen/Sokoban-v0", 2, mode) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    for actions, error, message in (
        ({"agent_0": ""}, ValueError, r"no answer of \['agent_1'\]"),
        ({"agent_0": "", "agent_1": "", "eve": ""}, ValueError, r"answers of \['eve'\], but only"),
        ({"agent_0": "", "agent_1": None}, TypeError, "got NoneType of agent_1"),
    ):
        with pytest.raises(error, match=message):
            env.step(actions)
    answers = {"agent_0": "", "agent_1": "<answer>"}
    assert env.step(answers) == twin.step(answers)


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_resets_draw_the_instances_that_gymnasium_draws(id_, form, mode):
    n = 2 if mode == "duel" else 1
    for split in ("train", "test"):
        single, env = make(id_, split=split), form(id_, n, mode, split=split)
        single.reset(seed=11)
        env.reset(seed=11)
        for _ in range(4):
            text, info = single.reset()
            told, told_info = begin(env)
            assert told.endswith(text)
            assert told_info == info
            answer = f"<think></think><answer>{' || '.join(info['legal_actions'])}</answer>"
            expected = single.step(answer)[0]
            if form is aec_env:
                for _ in range(n):
                    env.step(answer)
                told = env.observe("agent_0")
            else:
                told = env.step(dict.fromkeys(env.agents, answer))[0]["agent_0"]
            assert told["text"].startswith(expected)


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_without_any_seed_all_agents_have_one_instance_and_one_luck(form, mode):
    env = form("ragen/FrozenLake-v0", 3, mode, response_format="plain")
    found = set()
    for _ in range(5):
        _, info = begin(env)
        found.add(info["index"])
        games = [env.unwrapped.text_env(f"agent_{i}") for i in range(3)]
        assert len({game._instance.digest for game in games}) == 1
        told = rest_of(env, ["Up || Right"] * 30)
        if mode == "duel" and form is parallel_env:
            states = {agent: text["text"] for agent, text in told[0][0].items()}
            assert len(set(states.values())) == 1
            assert told[-1][4]["agent_0"]["winner"] is None
    assert len(found) == 5


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_the_rollout_changes_the_noise_alone(form, mode):
    env, courses = form("ragen/FrozenLake-v0", 2, mode, response_format="plain"), set()
    texts = set()
    for rollout in range(8):
        texts.add(begin(env, seed=5, options={"rollout": rollout})[0])
        courses.add(repr(rest_of(env, ["Up || Right"] * 30)))
    assert len(texts) == 1
    assert len(courses) > 2


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("form", FORMS)
def test_copies_and_pickles_go_on_as_the_original(id_, form):
    for mode in MODES:
        n = 1 if mode == "shared" and "Bandit" in id_ else 2
        env = form(id_, n, mode, response_format="plain")
        for fresh in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            assert begin(fresh, seed=4) == begin(env, seed=4)
        answer = " || ".join(begin(env, seed=4)[1]["legal_actions"][:2])
        rest_of(env, [answer])
        twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        expected = rest_of(env, [answer] * 60), begin(env)
        for twin in twins:
            assert (rest_of(twin, [answer] * 60), begin(twin)) == expected


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_infos_are_the_readers_own(form, mode):
    env, twin = (form("ragen/Sokoban-v0", 2, mode) for _ in range(2))
    begin(env, seed=0)[1].clear()
    begin(twin, seed=0)
    for _ in range(4):
        told, untouched = rest_of(env, ["x"]), rest_of(twin, ["x"])
        for each, other in zip(told, untouched, strict=True):
            if form is parallel_env:
                assert each == other
                for info in each[4].values():
                    info.clear()
    if form is parallel_env and mode == "duel":
        assert (
            twin.step({"agent_0": "", "agent_1": ""})[4]
            == (env.step({"agent_0": "", "agent_1": ""})[4])
        )


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_render_gives_the_state(form, mode):
    quiet = form("ragen/Sokoban-v0", 2, mode)
    quiet.reset(seed=0)
    assert quiet.render() is None
    assert quiet.unwrapped.render_mode is None
    env = form("ragen/Sokoban-v0", 2, mode, split="test", render_mode="ansi")
    assert env.unwrapped.render_mode == "ansi"
    env.reset(seed=1)
    grid = "######\n#O####\n#__###\n#X__##\n#__P_#\n######"
    both = f"agent_0:\n{grid}\n\nagent_1:\n{grid}"
    assert env.render() == (grid if mode == "shared" else both)
    env.close()
    env.close()


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_metadata_names_the_game(form, mode):
    env = form("ragen/Sokoban-v0", 2, mode)
    assert str(env) == env.metadata["name"] == "ragen/Sokoban-v0"
    assert env.metadata["render_modes"] == ["ansi"]
    assert env.metadata["is_parallelizable"] == ((form, mode) != (aec_env, "shared"))
    assert env.possible_agents == ["agent_0", "agent_1"]
    assert env.max_num_agents == 2


def test_pettingzoos_converters_know_what_they_can_convert():
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(aec_env("ragen/Sokoban-v0", 2))
    env = aec_to_parallel(aec_env("ragen/Sokoban-v0", 2, "duel"))
    assert env.step is not None
    assert env is env.unwrapped
    aec = parallel_to_aec(parallel_env("ragen/Sokoban-v0", 2))
    aec.reset(seed=0)
    assert len(rest_of(aec, [""] * 20)) == 6 + 2


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_the_global_generators_are_left_alone(form, mode):
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), repr(np.random.get_state())
    env = form("ragen/FrozenLake-v0", 2, mode)
    for reset in ({"seed": 3}, {}, {}):
        env.reset(**reset)
        rest_of(env, ["<think></think><answer>Up</answer>"] * 30)
    assert (random.getstate(), repr(np.random.get_state())) == before


def test_a_missing_package_is_named_in_one_line():
    code = "import sys; sys.modules['pettingzoo'] = None; import ragen_envs.pettingzoo"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "ImportError: ragen_envs.pettingzoo needs pettingzoo: pip install 'ragen-bench[pettingzoo]'"
    )


def test_the_suite_itself_does_not_import_pettingzoo():
    code = "import sys, ragen_envs; assert 'pettingzoo' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
