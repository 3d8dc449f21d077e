"""The server by NeMo Gym's own test client: groups, steps sent again, and mistakes in one line."""

import re
import subprocess
import sys

import gymnasium
import pytest

from tests.ragen_envs.integrations.nemo_gym.place import NEEDS_NEMO_GYM, driver

pytestmark = pytest.mark.slow

LAKE = "ragen/FrozenLake-v0"
DOWN = "<think></think><answer>Down || Right || Down || Right || Down</answer>"
BEFORE = f"""
from fastapi.testclient import TestClient

LAKE, DOWN = {LAKE!r}, {DOWN!r}
server = made()
app = server.setup_webserver()

def client():
    return TestClient(app)

def reset(to, **line):
    return to.post("/reset", json={{"responses_create_params": {{"input": []}}, **line}})

def step(to, text, **line):
    body = {{"responses_create_params": {{"input": []}}, "response": response(text).model_dump()}}
    return to.post("/step", json={{**body, **line}})
"""


def printed(code):
    return driver().ask(code=BEFORE + code)


def steps_of_gymnasium(noise_seed, seed=1):
    env = gymnasium.make(LAKE)
    env.reset(seed=seed, options={"noise_seed": noise_seed})
    return env.step(DOWN)[0]


@NEEDS_NEMO_GYM
def test_the_members_of_a_group_differ_in_noise():
    """By NeMo Gym's index of the rollout; by number where a trainer gives none; or by the line."""
    code = """
for extra in ({"_ng_rollout_index": 2}, {}, {}, {"noise_seed": 5, "_ng_rollout_index": 2}):
    one = client()
    reset(one, env=LAKE, seed=1, **extra)
    print(repr(step(one, DOWN, **extra).json()["observation"]))
"""
    shown = [eval(line) for line in printed(code).splitlines()]
    assert shown == [steps_of_gymnasium(noise_seed) for noise_seed in (2, 0, 1, 5)]
    assert len(set(shown)) > 2


@NEEDS_NEMO_GYM
def test_a_step_sent_again_counts_once():
    code = """
one = client()
info = reset(one, env="ragen/Bandit-v0", seed=0, response_format="plain").json()["info"]
print(info["supports_step_idempotency"], info["supports_explicit_close"])
arm = info["legal_actions"][0]
again = [step(one, arm, _ng_step_request_id="a").json() for _ in range(2)]
info = again[0]["info"]
print(again[0] == again[1], again[0]["terminated"], info["return"] == again[0]["reward"])
late = step(one, arm, _ng_step_request_id="b")
print(late.status_code, late.json()["detail"])
print(len(server.session_state), one.post("/close").status_code, len(server.session_state))
"""
    assert printed(code).splitlines() == [
        "True True",
        "True True True",
        "409 the episode is over or never began: call reset() first",
        "1 200 0",
    ]


@NEEDS_NEMO_GYM
def test_a_session_that_nobody_plays_is_dropped():
    code = """
server.config.idle_timeout = 0.2
left, new = client(), client()
reset(left, env=LAKE, seed=0)
import time
time.sleep(0.3)
reset(new, env=LAKE, seed=0)
print(len(server.session_state), step(new, DOWN).status_code, step(left, DOWN).status_code)
"""
    assert printed(code) == "1 200 409\n"


@NEEDS_NEMO_GYM
def test_a_mistake_in_a_line_is_one_line():
    code = """
for line in (
    {"seed": 0},
    {"env": LAKE},
    {"env": "ragen/FrozenLak-v0", "seed": 0},
    {"env": LAKE, "seed": 256, "split": "test"},
    {"env": LAKE, "seed": -1},
    {"env": LAKE, "seed": 0, "split": "dev"},
    {"env": LAKE, "seed": 0, "split": ["test"]},
    {"env": 5, "seed": 0},
    {"env": LAKE, "seed": [0]},
):
    refused = reset(client(), **line)
    print(refused.status_code, refused.json()["detail"])
refused = step(client(), DOWN)
print(refused.status_code, refused.json()["detail"])
"""
    shown = printed(code).splitlines()
    for line, message in zip(
        shown,
        [
            "422 the line has no env; `ragen-envs package ID --nemo-gym` writes whole lines",
            "422 the line has no seed; ",
            "422 environment 'ragen/FrozenLak-v0' is not known: did you mean ragen/FrozenLake-v0?",
            "422 ragen/FrozenLake-v0 has instances 0 to 255 in test, not 256",
            "422 seed is an int of at least 0, got -1",
            "422 split 'dev' is unknown; choose one of ",
            "422 the line's split is a text, got ['test']",
            "422 the line's env is a text, got 5",
            "422 seed is an int of at least 0, got [0]",
            "409 this session has no episode; call /reset first, and keep its cookie",
        ],
        strict=True,
    ):
        assert line.startswith(message)


@NEEDS_NEMO_GYM
def test_metrics_are_means_over_all_episodes_and_a_cut_one_counts_as_0():
    code = """
won, lost = ({"info": {"success": s, "score": s, "return": 1.0}} for s in (True, False))
cut, other = {"info": {"turn": 2}}, {"info": {"return": 1.0}}
for tasks in ([[won, lost], [won, cut]], [[cut, {}]], [[other, cut]], []):
    print(server.compute_metrics(tasks))
"""
    assert [eval(line) for line in printed(code).splitlines()] == [
        {"mean/success": 0.5, "mean/score": 0.5},
        {"mean/success": 0.0, "mean/score": 0.0},
        {},
        {},
    ]


def test_another_version_is_one_warning_with_both(tmp_path):
    for name, text in (
        ("nemo_gym/__init__.py", ""),
        ("nemo_gym-0.8.1.dist-info/METADATA", "Name: nemo-gym\nVersion: 0.8.1\n"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ragen_envs.core import extras\n"
        "with extras.required('here', 'nemo_gym', 'nemo', 'nemo-gym 0.7'): import nemo_gym\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    [line] = re.findall("UserWarning: (.*)", done.stderr)
    assert line == (
        "here is tested with nemo-gym 0.7, and 0.8.1 is installed; if it fails: "
        "pip install 'nemo-gym==0.7.*'"
    )
