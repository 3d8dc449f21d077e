import copy
import pickle
import random
import threading

import gymnasium
import numpy as np
import pytest
import textarena
from gymnasium.error import Error
from hypothesis import given, settings
from hypothesis import strategies as st
from textarena.envs.registration import ENV_REGISTRY

from ragen_envs.integrations.textarena import TextArenaEnv, pettingzoo_env
from ragen_envs.integrations.textarena.gamemaster import Gamemaster, has_gamemaster, make_with
from tests.cases import examples

from .support import HOSTILE, Raw, global_state

IDS = ("TwentyQuestions-v0", "TwentyQuestions-v0-hardcore", "GuessWho-v0")
TALK = ("Is it big?", "Is it [red]?", "", "no\n\nQ: yes", "[yo-yo]", "Tell me.", "[aaa]", "[bbb]")
REPLIES = ("Yes", " No.\n", "I don't know", "Perhaps.")


def make(env_id, gamemaster="rule", **options):
    made_env = gymnasium.make(f"ragen_textarena/{env_id}", gamemaster=gamemaster, **options)
    return made_env.unwrapped


def by_length(text):
    """A gamemaster whose reply depends on all of the request."""
    return REPLIES[len(text) % len(REPLIES)]


class Diced:
    """A gamemaster of its own luck, which no copy and no pickle can share, and which counts."""

    asked = 0

    def __call__(self, text):
        Diced.asked += 1
        return str(("Yes", "No")[random.SystemRandom().randrange(2)]) + str(Diced.asked)


@pytest.fixture
def key(monkeypatch):
    """With which TextArena makes its client of the service; nothing is asked of it here."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "none")


@pytest.mark.parametrize("variant", ["", "-train", "-raw"])
@pytest.mark.parametrize("env_id", IDS)
def test_all_but_the_gamemaster_is_what_textarena_makes(env_id, variant, key):
    agent = textarena.agents.OpenRouterAgent
    own, other = textarena.make(env_id + variant), make_with(by_length, env_id + variant, {})
    while isinstance(own, textarena.Wrapper):
        assert type(own) is type(other)
        own, other = own.env, other.env
    assert type(own) is type(other)
    theirs, ours = dict(vars(own)), dict(vars(other))
    assert isinstance(theirs.pop("gamemaster"), agent)
    assert isinstance(ours.pop("gamemaster"), Gamemaster)
    assert theirs == ours
    assert textarena.agents.OpenRouterAgent is agent
    assert type(own).__init__.__globals__["ta"] is textarena


@pytest.mark.parametrize("env_id", IDS)
def test_requests_texts_and_rewards_are_those_of_textarena(env_id, key):
    ends = set()
    for seed in range(12):
        mine, theirs = [], []
        env = make(env_id, lambda text, log=mine: log.append(text) or by_length(text))
        raw = Raw(env_id, 1, seed)
        raw.core.gamemaster = lambda text, log=theirs: log.append(text) or by_length(text)
        observation, _ = env.reset(seed=seed)
        assert observation == "\n".join(raw.look()[1])
        right = getattr(raw.core, "game_word", None) or raw.core.target_character["name"]
        for answer in random.Random(seed).choices((*TALK, f"[{right}]"), k=40):
            observation, reward, over, truncated, info = env.step(answer)
            done = raw.step(answer)
            _, messages = raw.look()
            rewards, game_info = raw.env.close()
            if done:
                messages.append(f"[GAME] {game_info[0]['reason']}")
            assert observation == "\n".join(messages)
            assert (over, truncated, info["rewards"]) == (done, False, rewards)
            assert mine == theirs
            if done:
                ends.add(reward)
                break
    assert ends == ({-1, 1} if env_id == "GuessWho-v0" else {0, 1})


def test_textarena_keeps_the_first_episodes_questions_in_the_second_and_the_bridge_does_not(key):
    raw, asked = Raw("TwentyQuestions-v0", 1, 0), []
    raw.core.gamemaster = lambda text: asked.append(text) or "No"
    env = make("TwentyQuestions-v0", lambda text: asked.append(text) or "No")
    for play, reset in ((raw.step, lambda: raw.env.reset(1, 1)), (env.step, env.reset)):
        reset()
        play("Is it first?")
        reset()
        play("Is it second?")
        assert ("first" in asked[-1]) == (play == raw.step)


def test_what_the_gamemaster_draws_is_by_the_seed_and_leaves_the_process_alone():
    def diced(text):
        return ("Yes", "No")[random.randrange(2)] + str(np.random.randint(1000))

    before = global_state()
    env = make("TwentyQuestions-v0", diced)
    shown = []
    for seed in (1, 2, 1):
        shown.append([env.reset(seed=seed), *(env.step(f"{i}?") for i in range(8))])
        random.random()
    random.setstate(before[0])
    assert global_state() == before
    assert shown[0] == shown[2]
    assert [s[0] for s in shown[0][1:]] != [s[0] for s in shown[1][1:]]


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_from_the_same_replies_and_asks_for_none_again(env_id, again):
    env = make(env_id, Diced())
    again(env).reset(seed=3)
    env.reset(seed=3)
    told = [env.step(f"{i}?")[0] for i in range(3)]
    count = Diced.asked
    twin = again(again(env))
    assert Diced.asked == count
    for one in (env, twin):
        state = one._game.state.game_state
        gamemaster = one._game._core.gamemaster
        assert [f"[GAME] {r}" for r in gamemaster.replies] == [t.split("\n")[-1] for t in told]
        assert state.get("history", []) == env._game.state.game_state.get("history", [])
    env.step("more?")
    assert len(twin._game._core.gamemaster.replies) == 3
    assert Diced.asked == count + 1
    twin.step("other?")
    assert Diced.asked == count + 2
    assert twin.reset(seed=4)[0] == env.reset(seed=4)[0]
    assert twin._game._core.gamemaster.replies == []


def test_copies_share_a_gamemaster_that_cannot_be_copied():
    class Client:
        def __init__(self):
            self.lock, self.heard = threading.Lock(), []

        def answer(self, text):
            self.heard.append(text)
            return "No"

    client = Client()
    env = make("TwentyQuestions-v0", client.answer)
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    assert twin.spec == env.spec
    assert twin.spec is not env.spec
    twin.step("Is it mine?")
    env.step("Is it yours?")
    assert [text.count("Is it mine?") for text in client.heard] == [1, 0]
    seat = pettingzoo_env("TwentyQuestions-v0", 1, gamemaster=client.answer)
    seat.reset(seed=0)
    copy.deepcopy(seat).step("Is it ours?")
    assert "Is it ours?" in client.heard[-1]


def test_a_gamemaster_that_fails_is_no_fault_of_the_player():
    fails = []

    def ask(text):
        if fails:
            raise fails.pop()
        return by_length(text)

    env, smooth = make("TwentyQuestions-v0", ask), make("TwentyQuestions-v0", by_length)
    assert env.reset(seed=5) == smooth.reset(seed=5)
    for number in range(6):
        fails.append(ValueError("service\nis down"))
        with pytest.raises(Error, match=r"^the gamemaster failed: ValueError: service$"):
            env.step(f"{number}?")
        assert env.step(f"{number}?") == smooth.step(f"{number}?")
    fails.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        env.step("Is it?")


def test_misuse_is_refused(monkeypatch):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    for wrong in (3, "model", ""):
        with pytest.raises(TypeError, match='from str to str, or "rule", got'):
            TextArenaEnv("TwentyQuestions-v0", gamemaster=wrong)
    for env_id in ("Mastermind-v0", "Klondike-v0", "Hangman-v0"):
        with pytest.raises(ValueError, match="has no gamemaster"):
            TextArenaEnv(env_id, gamemaster=by_length)
    with pytest.raises(Error, match="the rule needs words, but GuessWho-v0 has none"):
        make("GuessWho-v0")
    with pytest.raises(Error, match="unexpected keyword argument 'words'"):
        make("TwentyQuestions-v0", words=3)
    with pytest.raises(Error, match=r"OPENROUTER_API_KEY.*Or give gamemaster=, a function"):
        gymnasium.make("ragen_textarena/TwentyQuestions-v0")
    env = make("TwentyQuestions-v0", len)
    env.reset(seed=0)
    with pytest.raises(Error, match="the gamemaster must return a str, got int"):
        env.step("Is it?")


def test_options_and_agents_of_textarena_are_taken(monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or "Yes")
    env = make("TwentyQuestions-v0", textarena.agents.HumanAgent(), max_turns=2)
    env.reset(seed=0)
    assert env.step("Is it?")[0].startswith("[GAME] Yes\nYou have run out of questions.")
    assert "Q: Is it?" in asked[0]
    assert [env.step("Is it?")[2] for _ in range(2)] == [False, True]


def test_which_games_have_a_gamemaster():
    found = filter(has_gamemaster, ENV_REGISTRY)
    assert {env_id.removesuffix("-raw").removesuffix("-train") for env_id in found} == set(IDS)


@given(st.sampled_from(IDS), st.integers(0, 2**70), st.lists(HOSTILE, max_size=4), st.text())
@settings(max_examples=examples(60))
def test_any_answer_and_any_reply_are_taken(env_id, seed, answers, reply):
    env = make(env_id, lambda text: reply)
    observation, _ = env.reset(seed=seed)
    for answer in answers:
        assert observation in env.observation_space
        observation, _, over, truncated, _ = env.step(answer)
        assert not truncated
        if over:
            break
    assert observation in env.observation_space
