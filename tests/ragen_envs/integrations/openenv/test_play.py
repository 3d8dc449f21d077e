"""What the owner's client plays."""

from itertools import product

import gymnasium
import pytest
import requests

from ragen_envs.core.policies import oracle_answer
from ragen_envs.integrations.openenv import TextAction

from .running import client, running

pytestmark = pytest.mark.slow

SOKOBAN, LAKE = "ragen/Sokoban-v0", "ragen/FrozenLake-v0"
FOREIGN = f"{__package__}.foreign:foreign/Guess-v0"


@pytest.fixture(scope="module")
def lake():
    with running(LAKE) as url:
        yield url


@pytest.fixture(scope="module")
def foreign():
    with running(FOREIGN) as url:
        yield url


def test_an_episode_is_that_of_gymnasium(lake):
    env = gymnasium.make(LAKE, split="val")
    first, _ = env.reset(seed=5, options={"noise_seed": 2})
    with client(lake) as player:
        result = player.reset(seed=5, split="val", noise_seed=2, episode_id="mine")
        assert (result.observation["text"], result.reward, result.done) == (first, None, False)
        total = steps = 0
        while not result.done:
            answer = oracle_answer(env.unwrapped)
            text, reward, terminated, truncated, info = env.step(answer)
            result = player.step(TextAction(message=answer))
            assert result.observation["text"] == text
            assert (result.reward, result.done) == (reward, terminated or truncated)
            assert result.observation["info"]["legal_actions"] == list(info["legal_actions"])
            steps, total = steps + 1, total + reward
        assert result.observation["info"]["success"] == info["success"]
        assert player.state() == {
            "episode_id": "mine",
            "step_count": steps,
            "env": LAKE,
            "split": "val",
            "seed": 5,
            "noise_seed": 2,
            "response_format": "think",
            "done": True,
            "total_reward": total,
            "success": info["success"],
        }


def test_a_group_has_one_instance_and_noises_of_its_own(lake):
    answer = {"message": "<think></think><answer>Up || Up || Up</answer>"}
    with client(lake) as player:
        firsts, seconds = set(), set()
        for noise_seed in range(8):
            firsts.add(player.reset(seed=3, noise_seed=noise_seed).observation["text"])
            seconds.add(player.step(answer).observation["text"])
    assert len(firsts) == 1
    assert len(seconds) > 1


def test_a_reset_without_a_seed_draws_one_that_state_tells(lake):
    with client(lake) as player:
        texts = [player.reset(split="test").observation["text"] for _ in range(2)]
        seed = player.state()["seed"]
        assert player.reset(split="test", index=seed).observation["text"] == texts[1]
        assert 0 <= seed < 256


def test_sessions_do_not_see_each_other(lake):
    with client(lake) as one, client(lake) as other:
        texts = {}
        for seed, player in ((1, one), (2, other)):
            texts[seed] = player.reset(seed=seed, split="test").observation["text"]
        other.step({"message": "<think></think><answer>Up</answer>"})
        assert [player.state()["seed"] for player in (one, other)] == [1, 2]
        assert [player.state()["step_count"] for player in (one, other)] == [0, 1]
        child = one.new_session()
        assert child.state()["step_count"] == 0
        assert child.reset(seed=2, split="test").observation["text"] == texts[2]
        assert one.state()["seed"] == 1


def test_the_splits_that_are_named_are_served_and_the_first_is_the_default():
    with running(SOKOBAN, ("test", "val"), "plain") as url, client(url) as player:
        env = gymnasium.make(SOKOBAN, split="test", response_format="plain")
        assert player.reset(seed=0).observation["text"] == env.reset(seed=0)[0]
        with pytest.raises(RuntimeError, match="'train' is not served here; choose from test"):
            player.reset(split="train")
        assert player.state()["split"] == "test"
        splits = requests.get(f"{url}/ragen_sokoban_v0/splits", timeout=60).json()
        assert splits == [{"name": "test", "type": "test"}, {"name": "val", "type": "validation"}]


def test_the_task_api(lake):
    def asked(path, **body):
        reply = requests.post(f"{lake}/ragen_frozenlake_v0/{path}", json=body, timeout=60)
        return reply.status_code, reply.json()

    assert requests.get(f"{lake}/list_environments", timeout=60).json() == ["ragen_frozenlake_v0"]
    splits = requests.get(f"{lake}/ragen_frozenlake_v0/splits", timeout=60).json()
    assert [split["name"] for split in splits] == ["train", "val", "test"]
    assert asked("num_tasks", split="test") == (200, {"num_tasks": 256})
    assert asked("num_tasks", split="train") == (200, {"num_tasks": 2**53})
    assert len(asked("tasks", split="test")[1]["tasks"]) == 256
    assert len(asked("tasks", split="train")[1]["tasks"]) == 1024
    task = {"id": "val-255", "split": "val", "index": 255}
    assert asked("task", split="val", index=255) == (200, {"task": task})
    assert asked("task_range", split="val", start=255)[1] == {"tasks": [task]}
    assert asked("task_range", split="train", start=-3)[1]["tasks"][-1]["index"] == 2**53 - 1
    for split, index in (("val", 256), ("val", -1)):
        assert asked("task", split=split, index=index) == (400, {"detail": "Invalid task index"})
    assert asked("tasks", split="other")[0] == 400
    assert asked("task_range", split="train") == (
        400,
        {"detail": f"a range has at most 4096 tasks, not {2**53}"},
    )
    assert requests.get(f"{lake}/other/splits", timeout=60).status_code == 404


def test_what_is_served_is_described(lake):
    schema = requests.get(f"{lake}/schema", timeout=60).json()
    assert {"message", "metadata"} == set(schema["action"]["properties"])
    assert {"text", "terminated", "truncated", "info"} < set(schema["observation"]["properties"])
    assert "seed" in schema["state"]["properties"]
    metadata = requests.get(f"{lake}/metadata", timeout=60).json()
    assert metadata["name"] == "ragen_frozenlake_v0"
    assert metadata["description"].startswith("ragen/FrozenLake-v0: ")


def test_an_environment_of_another_package(foreign):
    with client(foreign) as player:
        for seed, noise_seed in product((0, 7), (0, 1)):
            result = player.reset(seed=seed, noise_seed=noise_seed)
            assert result.observation["text"] == f"Heads? {seed}"
            # The score is no number there, and the turn none either.
            assert result.observation["info"] == {"legal_actions": ["heads"]}
            assert player.step({"message": "heads"}).observation["info"] == {}
            result = player.step({"message": "heads"})
            assert (result.reward, result.done) == (1.0 - noise_seed, True)
            assert result.observation["info"] == {"success": noise_seed == 0}
    assert requests.get(f"{foreign}/list_environments", timeout=60).json() == ["foreign_guess_v0"]


def test_an_error_of_an_environment_is_told_without_its_text(foreign, caplog):
    with client(foreign) as player:
        player.reset(seed=0)
        with pytest.raises(RuntimeError) as caught:
            player.step({"message": "tails"})
        assert "failed with KeyError; the server's log says more" in str(caught.value)
        assert "wombat" not in str(caught.value)
        assert player.step({"message": "heads"}).reward == 1
    assert "it was the wombat" in caplog.text
