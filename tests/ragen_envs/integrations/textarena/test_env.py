import copy
import functools
import pickle
import random
import threading
import warnings

import gymnasium
import numpy as np
import pytest
import textarena
from gymnasium.error import Error, ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.integrations.textarena import SINGLE_PLAYER, TextArenaEnv
from tests.cases import examples

from .support import HOSTILE, SINGLE, Raw, answers, global_state


def make(env_id):
    return gymnasium.make(f"ragen_textarena/{env_id}").unwrapped


def episode(env, seed, actions):
    """Reset, play until the end or the last action, and return all that was shown."""
    shown = [env.reset(seed=seed)]
    for action in actions:
        shown.append(env.step(action))
        if shown[-1][2] or shown[-1][3]:
            break
    return shown


@pytest.mark.parametrize("env_id", SINGLE)
def test_the_texts_and_rewards_are_those_of_textarena(env_id):
    ended = 0
    for seed in range(4):
        env, raw = make(env_id), Raw(env_id, 1, seed)
        observation, _ = env.reset(seed=seed)
        _, messages = raw.look()
        assert observation == "\n".join(messages)
        for action in answers(seed, 25):
            observation, reward, over, truncated, info = env.step(action)
            done = raw.step(action)
            _, messages = raw.look()
            rewards, game_info = raw.env.close()
            if done and game_info[0].get("reason"):
                messages.append(f"[GAME] {game_info[0]['reason']}")
            assert observation == "\n".join(messages)
            assert (over, truncated, info["rewards"]) == (done, False, rewards)
            assert info["game_info"] == game_info[0]
            if done:
                ended += 1
                given_ = rewards[0]
                assert reward == (-1.0 if isinstance(given_, str) else given_)
                assert info["success"] == (reward >= 1)
                assert info["score"] == min(max(reward, 0), 1)
                break
            assert reward == 0
    assert ended or env_id == "2048-v0"


def test_textarena_itself_shows_the_first_episode_in_the_second_and_the_bridge_does_not():
    raw = textarena.make("TowerOfHanoi-v0")
    lengths = []
    for _ in range(3):
        with_history = raw.reset(num_players=1, seed=0) or raw.get_observation()[1]
        lengths.append(len(with_history))
    assert lengths == [lengths[0], 2 * lengths[0], 3 * lengths[0]]
    env = make("TowerOfHanoi-v0")
    assert len({env.reset(seed=0)[0] for _ in range(3)}) == 1


@pytest.mark.parametrize("env_id", SINGLE)
def test_an_episode_depends_on_its_seed_alone(env_id):
    actions = answers(1, 12)
    env = make(env_id)
    first = episode(env, 1, actions)
    episode(env, 2, answers(5, 12))
    random.seed(99)
    np.random.seed(99)
    assert episode(env, 1, actions) == first
    assert episode(make(env_id), 1, actions) == first


def test_another_seed_is_another_instance():
    env = make("Crosswords-v0")
    assert len({env.reset(seed=seed)[0] for seed in range(10)}) == 10


def test_without_a_seed_the_next_is_drawn():
    env, twin = make("Minesweeper-v0"), make("Minesweeper-v0")
    seeds = [e.reset(seed=5)[1]["seed"] for e in (env, twin)]
    later = [[e.reset()[1]["seed"] for _ in range(3)] for e in (env, twin)]
    assert seeds == [5, 5]
    assert later[0] == later[1]
    assert len(set(later[0])) == 3


@pytest.mark.parametrize("env_id", SINGLE)
def test_the_global_generators_are_left_alone(env_id):
    random.seed(7)
    np.random.seed(7)
    np.random.standard_normal()  # which leaves a second one cached
    before = global_state()
    env = make(env_id)
    assert global_state() == before
    env.reset(seed=1)
    assert global_state() == before
    for action in answers(2, 4):
        if env.step(action)[2]:
            break
        assert global_state() == before
    copy.deepcopy(env)
    pickle.loads(pickle.dumps(env))
    assert global_state() == before


def test_games_that_take_turns_do_not_disturb_each_other():
    alone = {env_id: episode(make(env_id), 3, answers(3, 8)) for env_id in SINGLE}
    envs = {env_id: make(env_id) for env_id in SINGLE}
    shown = {env_id: [env.reset(seed=3)] for env_id, env in envs.items()}
    for action in answers(3, 8):
        for env_id, env in envs.items():
            if not (len(shown[env_id]) > 1 and shown[env_id][-1][2]):
                shown[env_id].append(env.step(action))
                random.random()
    assert shown == alone


def test_games_in_threads_do_not_disturb_each_other():
    seeds = range(6)
    alone = {s: episode(make("Blackjack-v0-long"), s, ["[hit]", "[stand]"] * 20) for s in seeds}
    found = {}

    def play(seed):
        found[seed] = episode(make("Blackjack-v0-long"), seed, ["[hit]", "[stand]"] * 20)

    before = global_state()
    threads = [threading.Thread(target=play, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone
    assert global_state() == before


@pytest.mark.parametrize("env_id", [*SINGLE, "Secretary-v0-long", "Bandit-v0"])
@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike_and_apart(env_id, again):
    unplayed = again(make(env_id))
    env = make(env_id)
    episode(env, 1, answers(8, 1))
    assert unplayed.reset(seed=1) == make(env_id).reset(seed=1)
    if not env._running:
        pytest.skip("one answer ends the game")
    twin, third = again(env), again(env)
    ends = [[], [], []]
    for end, one in zip(ends, (env, twin, third), strict=True):
        for action in answers(9, 6):
            end.append(one.step(action))
            if end[-1][2]:
                break
    assert ends[0] == ends[1] == ends[2]
    assert env.reset() == twin.reset()


made_once = functools.cache(make)


@given(st.sampled_from(SINGLE), st.integers(0, 2**70), st.lists(HOSTILE, max_size=6))
@settings(max_examples=examples(120))
def test_any_text_is_an_answer(env_id, seed, actions):
    env = made_once(env_id)
    for shown in episode(env, seed, actions):
        assert shown[0] in env.observation_space
        if len(shown) == 5:
            assert isinstance(shown[1], float)
            assert shown[2] + shown[3] < 2


def test_an_answer_on_which_the_game_fails_ends_the_episode():
    env = make("GuessTheNumber-v0")
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("[" + "9" * 5000 + "]")
    assert (reward, terminated, truncated) == (-1.0, False, True)
    assert info["error"].startswith("ValueError: Exceeds the limit (4300 digits)")
    assert not info["action_is_valid"]
    with pytest.raises(ResetNeeded):
        env.step("[1]")


def test_a_reason_in_the_place_of_a_reward_is_a_loss():
    env = make("ThreeCardMonte-v0")
    shown = episode(env, 0, ["none"] * 3)
    assert isinstance(shown[-1][4]["rewards"][0], str)
    assert shown[-1][1] == -1.0


def test_misuse_is_refused():
    env = make("TowerOfHanoi-v0")
    with pytest.raises(ResetNeeded):
        env.step("[A C]")
    with pytest.raises(ValueError, match="unknown reset options"):
        env.reset(options={"level": 1})
    with pytest.raises(Error):
        env.reset(seed=-1)
    env.reset(seed=0)
    with pytest.raises(TypeError, match="a response must be a str, got int"):
        env.step(3)
    episode(env, 0, ["bad"] * 9)
    with pytest.raises(ResetNeeded):
        env.step("[A C]")
    env.close()
    env.close()
    with pytest.raises(ValueError, match="has no game 'Nothing-v0'"):
        TextArenaEnv("Nothing-v0")
    with pytest.raises(ValueError, match="render_mode"):
        TextArenaEnv("Nim-v0", render_mode="human")
    with pytest.raises(Error, match="does not start with 1 players"):
        TextArenaEnv("TicTacToe-v0").reset(seed=0)


def test_gymnasiums_own_check_passes():
    from gymnasium.utils.env_checker import check_env

    # Only in here: a mark would have this test fail for files that earlier tests left open.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make("Mastermind-v0"), skip_render_check=True)


def test_the_list_holds_no_wrapper_variant_and_all_that_state_one_player():
    assert len(SINGLE_PLAYER) == 73
    assert set(SINGLE) < set(SINGLE_PLAYER)
    assert not [i for i in SINGLE_PLAYER if i.endswith(("-raw", "-train"))]
    assert "TicTacToe-v0" not in SINGLE_PLAYER
    assert all(f"ragen_textarena/{i}" in gymnasium.registry for i in SINGLE_PLAYER)


def test_options_reach_the_game():
    env = gymnasium.make("ragen_textarena/TowerOfHanoi-v0", num_disks=4)
    assert "[4, 3, 2, 1]" in env.reset(seed=0)[0]
    assert "[3, 2, 1]" in make("TowerOfHanoi-v0").reset(seed=0)[0]
