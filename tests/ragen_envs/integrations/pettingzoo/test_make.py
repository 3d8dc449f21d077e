"""What holds for every environment of the bridge."""

import copy
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec

from ragen_envs.integrations.pettingzoo import MODES, aec_env, parallel_env
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
        assert len({game.instance.digest for game in games}) == 1
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
    for noise_seed in range(8):
        texts.add(begin(env, seed=5, options={"noise_seed": noise_seed})[0])
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


@pytest.mark.parametrize("mode", MODES)
def test_infos_are_the_readers_own(mode):
    env, twin = (parallel_env("ragen/Sokoban-v0", 2, mode, split="test") for _ in range(2))
    told, kept = env.reset(seed=1), twin.reset(seed=1)
    # In the duel, agent_0 solves its level in its first turn and waits.
    solving = "<think></think><answer>Left || Left || Up || Up</answer>"
    for answers in [(solving if mode == "duel" else "", ""), *[("", "")] * 4]:
        told[-1]["agent_0"].clear()
        assert told[-1]["agent_1"] == kept[-1]["agent_1"]
        if not env.agents:
            break
        answers = dict(zip(env.agents, answers, strict=True))
        told, kept = env.step(answers), twin.step(answers)
        assert told == kept
    if mode == "duel":
        assert kept[4]["agent_0"]["returns"] is not kept[4]["agent_1"]["returns"]


def test_the_infos_of_the_turns_are_the_readers_own():
    env, twin = (aec_env("ragen/Sokoban-v0", 2) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    for _ in range(5):
        assert env.last() == twin.last()
        for info in env.infos.values():
            info.clear()
        env.step("")
        twin.step("")
    assert env.last() == twin.last()


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
    code = "import sys; sys.modules['pettingzoo'] = None; import ragen_envs.integrations.pettingzoo"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "ImportError: ragen_envs.integrations.pettingzoo needs pettingzoo: "
        "pip install 'ragen-bench[pettingzoo]' (in a checkout: pip install '.[pettingzoo]')"
    )


def test_the_suite_itself_does_not_import_pettingzoo():
    code = "import sys, ragen_envs; assert 'pettingzoo' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
