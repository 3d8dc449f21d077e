"""NeMo Gym collects rollouts from the folder of the docs, and gets what plain Gymnasium gives."""

import json
import re
import shlex
import subprocess

import pytest

from ragen_envs.cli import main
from tests.ragen_envs.integrations.conversations import play
from tests.ragen_envs.integrations.driver import ROOT, environment
from tests.ragen_envs.integrations.nemo_gym.place import NEEDS_NEMO_GYM, PYTHON, driver

pytestmark = pytest.mark.slow

LAKE = "ragen/FrozenLake-v0"
PAGE = (ROOT / "docs" / "nemo-gym.md").read_text(encoding="utf-8")
INSTANCES, REPEATS = 6, 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder that the page's command writes."""
    monkeypatch.chdir(tmp_path)
    [command] = re.findall("^ragen-envs (package .*)", PAGE, re.MULTILINE)
    assert main(shlex.split(command)) == 0
    return tmp_path / "lake" / "resources_servers" / "ragen_frozenlake_v0"


def test_the_lines_name_instances_and_leave_noise_to_the_rollouts(folder):
    train, val = (
        [json.loads(line) for line in (folder / "data" / name).read_text().splitlines()]
        for name in ("train.jsonl", "val.jsonl")
    )
    assert [(line["seed"], line["noise_seed"], line["split"]) for line in train] == [
        (seed, None, "train") for seed in range(64)
    ]
    assert [(line["seed"], line["noise_seed"], line["split"]) for line in val] == [
        (seed, 0, "val") for seed in range(64)
    ]
    shown = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1]
    assert json.loads(shown) == train[0]


@NEEDS_NEMO_GYM
def test_rollouts_have_the_rewards_of_gymnasium(folder, tmp_path):
    answers, episodes = play(LAKE, "train", INSTANCES, REPEATS)
    (tmp_path / "answers.json").write_text(json.dumps(list(answers.items())))
    lines = (folder / "data" / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "lines.jsonl").write_text("".join(lines[:INSTANCES]))
    script = "tests.ragen_envs.integrations.nemo_gym.collection"
    done = subprocess.run(
        [PYTHON, "-m", script, "answers.json", "lines.jsonl", str(REPEATS), "rollouts.jsonl"],
        cwd=tmp_path,
        env={**environment(), "NEMO_GYM_EXTRA_ROOTS": str(tmp_path / "lake")},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in (tmp_path / "rollouts.jsonl").read_text().splitlines():
        rollout = json.loads(line)
        said = (*rollout["responses_create_params"]["input"], *rollout["response"]["output"])
        contents = [message["content"] for message in said]
        texts = [one if isinstance(one, str) else one[0]["text"] for one in contents]
        info, key = rollout["info"], (rollout["_ng_task_index"], rollout["_ng_rollout_index"])
        conversation = [*texts, info["final_observation"]]
        found[key] = conversation, rollout["reward"], info["success"], info["score"]
    assert found == {
        key: (conversation, sum(rewards), success, score)
        for key, (conversation, rewards, success, score) in episodes.items()
    }
    successes = [success for *_, success, _ in found.values()]
    assert set(successes) == {True, False}
    [metrics] = json.loads((tmp_path / "rollouts_aggregate_metrics.json").read_text())
    assert metrics["key_metrics"]["mean/success"] == sum(successes) / len(successes)


@NEEDS_NEMO_GYM
def test_the_example_prints_what_the_page_shows():
    [(code, shown)] = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert driver().ask(code=code) == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name one project: --openenv, --nemo-gym, --verifiers"),
        (("--nemo-gym", "--openenv"), "name one project: "),
        (("--nemo-gym", "--instances", "0"), "instances is at least 1, got 0"),
        (("--nemo-gym", "--wheel", "a.whl"), "--wheel is for --openenv; remove it"),
        (("--verifiers", "--split", "val"), "--split is for --openenv and --nemo-gym; remove it"),
        (("--nemo-gym", "--split", "sealed"), "the sealed split needs the host's key"),
        (
            ("--nemo-gym", "--out", "full"),
            "full already exists and is not empty; choose another folder",
        ),
    ],
)
def test_a_mistake_is_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full" / "file").mkdir(parents=True)
    assert main(["package", LAKE, "--out", "new", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ragen-envs: {message}")
