import copy
import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import textarena
from gymnasium.error import Error, ResetNeeded
from hypothesis import given
from hypothesis import strategies as st
from textarena.agents.wrappers import AnswerTokenAgentWrapper, ThoughtAgentWrapper

import ragen_envs.integrations.textarena  # noqa: F401
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS
from ragen_envs.integrations.textarena.suite import SuiteGame
from tests.ragen_envs import support

from .support import global_state


def started(id_, seed=0, **options):
    env = textarena.make(id_, **options)
    env.reset(num_players=1, seed=seed)
    return env


def played(env, agent, turns=99):
    """TextArena's own loop."""
    done = False
    while not done and turns:
        _, observation = env.get_observation()
        done, _ = env.step(action=agent(observation))
        turns -= 1
    return env.close()


@pytest.mark.parametrize("id_", support.IDS)
@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_a_game_is_that_of_the_suite(id_, form):
    for seed in (0, 3):
        env = started(id_, seed, split="test", response_format=form)
        bare = support.make(id_, split="test", response_format=form, render_mode="ansi")
        observation, info = bare.reset(seed=seed)
        player, text = env.get_observation()
        assert player == 0
        rules, board = text.removeprefix("\n[GAME] ").rsplit("\n[GAME] ", 1)
        assert board == bare.render()
        before, after = observation.split(f"\n\n{board}\n\n")
        assert rules == f"{before}\n\n{after}"
        assert env.state.game_state == {"observation": observation, "info": info}
        rewards = []
        over = False
        while not over:
            answer = oracle_answer(bare)
            observation, reward, terminated, truncated, info = bare.step(answer)
            over = terminated or truncated
            rewards.append(reward)
            done, step_info = env.step(answer)
            flags = {"reward": reward, "terminated": terminated, "truncated": truncated}
            assert (done, step_info) == (over, info | flags)
            told = env.get_observation()[1].removeprefix(text)
            feedback = observation.removesuffix(f"\n{bare.render()}")
            assert told == f"\n[Player] {answer}\n[GAME] {feedback}\n[GAME] {bare.render()}"
            text += told
        given_, game_info = env.close()
        assert given_ == {0: pytest.approx(sum(rewards), abs=1e-9)}
        assert len(str(given_[0])) < 9
        assert info.items() <= game_info[0].items()
        assert env.close() == (given_, game_info)


@pytest.mark.parametrize("variant", ["", "-train", "-raw"])
def test_the_second_episode_shows_nothing_of_the_first(variant):
    env = started(f"ragen/Sokoban-v0{variant}", seed=1)
    env.get_observation()
    env.step("first words")
    env.get_observation()
    env.reset(num_players=1, seed=2)
    fresh = started(f"ragen/Sokoban-v0{variant}", seed=2)
    assert env.get_observation() == fresh.get_observation()


def test_the_train_variant_shows_the_present_board_alone():
    env = started("ragen/Sokoban-v0-train", response_format="plain")
    first = env.get_observation()[1]
    assert first.endswith(env.get_board_str())
    env.step("Up || Down || Left")
    later = env.get_observation()[1]
    assert later.endswith(env.get_board_str())
    assert later.count("######") == first.count("######")


def test_seeds_and_generators():
    before = global_state()
    first = {started("ragen/FrozenLake-v0", seed).get_observation()[1] for seed in range(20)}
    assert len(first) == 20
    assert started("ragen/FrozenLake-v0", seed=None).get_observation()[1]
    assert global_state() == before


def test_the_members_of_a_group_share_the_instance_and_differ_in_noise():
    answer = "<think></think><answer>Down || Right || Down || Right || Down</answer>"
    firsts, played = set(), []
    for noise_seed in range(6):
        env = started("ragen/FrozenLake-v0", seed=1, noise_seed=noise_seed)
        firsts.add(env.get_observation()[1])
        env.step(answer)
        played.append(env.get_board_str())
        bare = support.make("ragen/FrozenLake-v0", render_mode="ansi")
        bare.reset(seed=1, options={"noise_seed": noise_seed})
        bare.step(answer)
        assert played[-1] == bare.render()
    assert len(firsts) == 1
    assert len(set(played)) > 2
    with pytest.raises(ValueError, match="noise_seed"):
        textarena.make("ragen/FrozenLake-v0", noise_seed=-1)


@given(st.sampled_from(support.IDS), st.lists(st.text(max_size=40), max_size=8))
def test_any_text_is_an_answer(id_, actions):
    env = started(id_)
    for action in actions:
        over, _ = env.step(action)
        if over:
            break
        player, observation = env.get_observation()
        assert player == 0
        assert observation


def test_misuse_is_refused():
    env = textarena.make("ragen/Sokoban-v0")
    for call in (env.get_observation, env.close, lambda: env.step("Up")):
        with pytest.raises(ResetNeeded):
            call()
    with pytest.raises(ValueError, match="have 1 player, got 2"):
        env.reset(num_players=2)
    with pytest.raises(Error):
        env.reset(num_players=1, seed=-1)
    with pytest.raises(ValueError, match="split 'all' is unknown"):
        textarena.make("ragen/Sokoban-v0", split="all")
    env.reset(num_players=1, seed=0)
    for _ in range(5):
        done, _ = env.step("")
    assert done
    with pytest.raises(ResetNeeded):
        env.step("")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("variant", ["", "-train", "-raw"])
def test_a_copy_goes_on_alike_and_apart(again, variant):
    env = started(f"ragen/FrozenLake-v0{variant}", seed=4, response_format="plain")
    env.get_observation()
    twin = again(env)
    for action in ("Right", "Down"):
        assert env.step(action) == twin.step(action)
    assert env.get_observation() == twin.get_observation()
    twin.reset(num_players=1, seed=5)
    assert twin.get_board_str() != env.get_board_str()


class Oracle(textarena.Agent):
    """Answers with the oracle's actions, whatever it is told."""

    def __init__(self, env):
        self.env, self.system_prompt, self.heard = env, "Play.", []

    def __call__(self, observation):
        self.heard.append((self.system_prompt, observation))
        return oracle_answer(self.env.text_env)


def test_textarenas_agent_wrappers_play():
    for wrapper, calls in ((ThoughtAgentWrapper, 2), (AnswerTokenAgentWrapper, 1)):
        env = started("ragen/Sokoban-v0", seed=1, split="val")
        agent = Oracle(env)
        rewards, info = played(env, wrapper(agent))
        assert info[0]["success"]
        assert rewards[0] > 9
        assert len(agent.heard) == calls * info[0]["turn"]


def test_the_human_agent_plays(monkeypatch):
    env = started("ragen/Sokoban-v0", seed=1, split="val", response_format="plain")
    asked = []
    monkeypatch.setattr("builtins.input", lambda p: asked.append(p) or oracle_answer(env.text_env))
    _, info = played(env, textarena.agents.HumanAgent())
    assert info[0]["success"]
    assert "[GAME] You are playing Sokoban" in asked[0]


def test_the_openai_agent_plays_against_a_local_server():
    env = started("ragen/Sokoban-v0", seed=2, split="val")
    heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            message = {"role": "assistant", "content": oracle_answer(env.text_env)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = {"id": "0", "object": "chat.completion", "created": 0, "model": "m"}
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body | {"choices": [choice]}).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        agent = textarena.agents.OpenAIAgent(
            "m", api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1"
        )
        _, info = played(env, agent)
    finally:
        server.shutdown()
        server.server_close()
    assert info[0]["success"]
    assert len(heard) == info[0]["turn"]
    assert "You are playing Sokoban" in heard[0]["messages"][1]["content"]


@pytest.mark.slow
def test_a_language_model_plays_through_textarenas_own_agent():
    from ragen_bench.models.bundled import converted_folder

    agent = textarena.agents.HFLocalAgent(
        str(converted_folder()), device="cpu", max_new_tokens=12, hf_kwargs={}
    )
    env = started("ragen/Bandit-v0", seed=0, split="val", response_format="plain")
    answers = []
    rewards, info = played(env, lambda o: answers.append(agent(o)) or answers[-1])
    assert not [a for a in answers if a.startswith("An error occurred")]
    assert rewards is not None
    assert info[0]["turn"] == len(answers) >= 1


def test_the_environment_is_textarenas():
    env = textarena.make("ragen/Sokoban-v0")
    assert isinstance(env, textarena.wrappers.LLMObservationWrapper)
    assert isinstance(env.env, SuiteGame)
    assert isinstance(env.env, textarena.Env)
    assert env.env_id == "ragen/Sokoban-v0"
