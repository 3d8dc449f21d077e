"""A taskset as a Gymnasium environment: verifiers' own machinery, with `step` as the model."""

import pytest

from tests.ragen_envs.integrations.verifiers.place import NEEDS_VERIFIERS, driver

pytestmark = [pytest.mark.slow, NEEDS_VERIFIERS]
BEFORE = """
import copy, gymnasium, pickle
from functools import partial
from ragen_envs.testing import check_reset_forgets, check_step_after_end
from ragen_envs.integrations.verifiers import TasksetEnv

ID = "ragen_envs:ragen/FrozenLake-v0"
options = {"env": ID, "split": "test", "response_format": "plain"}
make = partial(TasksetEnv, "ragen-verifiers", options)
env = make()
"""


def printed(code):
    return driver().ask(code=BEFORE + code)


def test_it_plays_as_gymnasium_does():
    """Up to what no model is shown, the end; its reward is that of the whole episode."""
    code = """
beside = gymnasium.make(ID, split="test", response_format="plain")
for seed in range(4):
    here, there = [env.reset(seed=seed)[0]], [beside.reset(seed=seed)[0]]
    rewards, over = [], False
    while not over:
        text, reward, terminated, _, info = env.step("Down || Right")
        other, each, ends, cut, _ = beside.step("Down || Right")
        rewards.append(each)
        over = ends or cut
        here.append(text)
        there.append("" if over else other)
        print(over == terminated, end=" ")
    print(here == there, reward == sum(rewards), info["metrics"]["turns"] == len(rewards))
env.close()
"""
    lines = printed(code).splitlines()
    assert len(lines) == 4
    assert {word for line in lines for word in line.split()} == {"True"}


def test_a_copy_plays_on_by_itself():
    code = """
env.reset(seed=2)
env.step("?")
twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
steps = [env.step(answer)[:4] for answer in ("?", "Up")]
for twin in twins:
    print([twin.step(answer)[:4] for answer in ("?", "Up")] == steps)
    twin.close()
env.close()
"""
    assert printed(code) == "True\nTrue\n"


def test_seeds_beyond_the_tasks_start_over():
    code = """
few = TasksetEnv("ragen-verifiers", {"env": ID, "instances": 3})
texts = [few.reset(seed=seed)[0] for seed in range(6)]
print(len(set(texts)), texts[:3] == texts[3:])
few.close()
"""
    assert printed(code) == "3 True\n"


def test_the_kit_checks_it():
    code = """
for check in (check_reset_forgets, check_step_after_end):
    check(make, answers=("Up", "\\ud800"), seeds=(0, 1), max_turns=5)
"""
    assert printed(code) == ""


def test_what_goes_wrong_is_one_error():
    code = """
def told(call):
    try:
        call()
    except (gymnasium.error.Error, ValueError, ModuleNotFoundError) as error:
        print(f"{type(error).__name__}: {error}".replace("\\n", " "))

told(lambda: env.step("Up"))
told(lambda: env.reset(options={"noise_seed": 1}))
told(lambda: TasksetEnv("no-such-taskset"))
told(lambda: TasksetEnv("ragen-verifiers", {"split": "tset"}))
told(lambda: TasksetEnv("ragen-verifiers", env_id="user_sim"))
"""
    begun, option, taskset, split, several = printed(code).splitlines()
    assert begun == "ResetNeeded: the episode is over or never began: call reset() first"
    assert option == "ValueError: unknown reset options ['noise_seed']; a taskset takes none"
    assert taskset.startswith("ModuleNotFoundError: taskset 'no-such-taskset' not found")
    assert "Input should be 'train', 'val', 'test', 'sealed' or 'drawn'" in split
    assert several == (
        "ValueError: user_sim has several agents, ['assistant', 'user']; only one can be played"
    )


def test_the_seat_of_the_model_is_for_verifiers_alone():
    code = """
import asyncio, httpx
from ragen_envs.integrations.verifiers import taskset_env as module

server = module._ModelServer()
runner, url = asyncio.run_coroutine_threadsafe(server.listen(), module._loop()).result()
server.close()

def post(url, **headers):
    body = {"messages": [], "model": "played"}
    return httpx.post(f"{url}/chat/completions", json=body, headers=headers).status_code

print(post(url.rpartition("/")[0]), post(url[:-1] + "!"), post(url))
print(post(url, Origin="https://rebound.example"), post(url, Host="rebound.example"))
"""
    assert printed(code) == "404 404 400\n403 403\n"
