"""What is refused, with which words."""

import pytest
from gymnasium.error import Error, ResetNeeded

from ragen_envs.integrations.pettingzoo import MODES, aec_env, parallel_env

FORMS = [aec_env, parallel_env]
BOTH = [(form, mode) for form in FORMS for mode in MODES]


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
        ({"render_mode": "rgb_array"}, "render_mode 'rgb_array' is unknown"),
        ({"agents": 0}, "agents must name at least one agent, got 0"),
        ({"agents": -1}, "agents must name at least one agent, got -1"),
        ({"agents": []}, r"agents must name at least one agent, got \[\]"),
        ({"agents": ["a", "b", "a"]}, r"two agents have the same name: \['a', 'b', 'a'\]"),
        ({"agents": ["a", ""]}, "an agent's name must be 1 to 32 of"),
        ({"agents": ["a\nb", "c"]}, "an agent's name must be 1 to 32 of"),
        ({"agents": ["a", "b" * 33]}, "an agent's name must be 1 to 32 of"),
    ],
)
def test_wrong_values_are_refused(form, arguments, message):
    with pytest.raises(ValueError, match=message):
        form(**{"id": "ragen/Sokoban-v0", **arguments})


@pytest.mark.parametrize("form", FORMS)
def test_wrong_types_are_refused(form):
    for agents in (True, "ann", 2.0, None):
        with pytest.raises(TypeError, match="agents must be a number or a list of names, got"):
            form("ragen/Sokoban-v0", agents)
    with pytest.raises(TypeError, match="an agent's name must be a str, got 1"):
        form("ragen/Sokoban-v0", ["a", 1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        form("ragen/Sokoban-v0", seed=1)


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_wrong_resets_are_refused(form, mode):
    env = form("ragen/Sokoban-v0", 2, mode)
    with pytest.raises(ValueError, match=r"unknown reset options \['rolout'\]"):
        env.reset(options={"rolout": 1})
    with pytest.raises(ValueError, match="'noise_seed' is an int of at least 0"):
        env.reset(options={"noise_seed": -1, "options": 1})
    with pytest.raises(ValueError, match="a seed is an int of at least 0"):
        env.reset(seed=True)
    with pytest.raises(TypeError, match="the options of reset are a dictionary, got 'abc'"):
        env.reset(options="abc")
    if form is aec_env:
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            env.step("")  # for a reset that was refused is none


@pytest.mark.parametrize(("form", "mode"), BOTH)
def test_a_refused_reset_leaves_the_game_as_it_was(form, mode):
    env, twin = (form("ragen/Sokoban-v0", 2, mode) for _ in range(2))
    assert env.reset(seed=0) == twin.reset(seed=0)
    for arguments in ({"seed": -1}, {"seed": 5, "options": {"noise_seed": "x"}}):
        with pytest.raises((ValueError, Error), match="is an int of at least 0"):
            env.reset(**arguments)
    if form is parallel_env:
        answers = {"agent_0": "", "agent_1": "Up"}
        assert env.step(answers) == twin.step(answers)
    else:
        for answer in ("", "Up"):
            assert (env.agent_selection, env.last()) == (twin.agent_selection, twin.last())
            env.step(answer)
            twin.step(answer)
    assert env.reset() == twin.reset()
    assert form is parallel_env or env.last() == twin.last()


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


@pytest.mark.parametrize("mode", MODES)
def test_nobody_takes_a_turn_before_the_start_or_after_the_end(mode):
    aec = aec_env("ragen/Sokoban-v0", 2, mode, render_mode="ansi")
    for call in (lambda: aec.step(""), lambda: aec.observe("agent_0"), aec.render):
        with pytest.raises(ResetNeeded, match=r"the episode never began: call reset\(\) first"):
            call()
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        aec.agent_iter(len(aec.agents))
    aec.reset(seed=0)
    for _ in range(5 if mode == "shared" else 10):
        aec.step("")
    for left in (2, 1):
        assert aec.num_agents == left
        for _ in range(2):
            with pytest.raises(ValueError, match=r"(only valid action is|response must be) None"):
                aec.step("Up")
        aec.step(None)
    with pytest.raises(ResetNeeded, match=r"the episode is over: call reset\(\) first"):
        aec.step(None)


@pytest.mark.parametrize("mode", MODES)
def test_a_bad_answer_is_refused_when_it_is_given(mode):
    env, twin = (aec_env("ragen/Sokoban-v0", 3, mode, response_format="plain") for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    for answer in ("Up", "Left", "Right", "", "Down"):
        agent = env.agent_selection
        for bad, kind in ((None, "NoneType"), (3, "int"), (b"Up", "bytes")):
            with pytest.raises(TypeError, match=f"a response must be a str, got {kind} of {agent}"):
                env.step(bad)
        assert (agent, env.last()) == (twin.agent_selection, twin.last())
        env.step(answer)
        twin.step(answer)


def test_an_agent_that_waits_may_answer_anything():
    env = aec_env("ragen/Sokoban-v0", 2, "duel", split="test", response_format="plain")
    env.reset(seed=1)
    env.step("Left || Left || Up || Up")  # which solves it
    env.step("Up")
    for answer in (None, 3):
        assert (env.agent_selection, env.infos["agent_0"]["success"]) == ("agent_0", True)
        env.step(answer)
        env.step("Up")


def test_the_bare_turns_refuse_the_same():
    env = aec_env("ragen/Sokoban-v0", 2).unwrapped
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step("")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="a response must be a str, got int of agent_0"):
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
        ({"agent_0": ""}, ValueError, r"no response of \['agent_1'\]"),
        (
            {"agent_0": "", "agent_1": "", "eve": ""},
            ValueError,
            r"responses of \['eve'\], but",
        ),
        ({"agent_0": "", "agent_1": None}, TypeError, "got NoneType of agent_1"),
    ):
        with pytest.raises(error, match=message):
            env.step(actions)
    answers = {"agent_0": "", "agent_1": "<answer>"}
    assert env.step(answers) == twin.step(answers)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answers", ["Up", ["Up", "Up"], None])
def test_parallel_answers_are_a_dict(mode, answers):
    env = parallel_env("ragen/Sokoban-v0", 2, mode)
    env.reset(seed=0)
    with pytest.raises(
        TypeError, match=r"step takes a dict with a response of each of \['agent_0', 'agent_1'\]"
    ):
        env.step(answers)
    env.step({"agent_0": "", "agent_1": ""})
