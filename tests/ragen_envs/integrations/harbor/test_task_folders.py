"""Task folders: their files, their oracle's solution, and what is refused."""

import json
import shlex
import tomllib
from io import StringIO

import gymnasium
import pytest

from ragen_bench.cli.main import main
from ragen_envs import IDS
from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.integrations.harbor.server import Game, open_episode, read_task
from ragen_envs.integrations.harbor.task_folders import write_task_folders
from ragen_envs.integrations.harbor.verifier import replay
from tests.cases import first_fast

FILES = {
    "task.toml",
    "instruction.md",
    "environment/Dockerfile",
    "environment/docker-compose.yaml",
    "environment/game.py",
    "environment/server/Dockerfile",
    "environment/server/task.json",
    "solution/solve.sh",
    "tests/Dockerfile",
    "tests/task.json",
    "tests/test.sh",
}


def export(*words):
    return main(["export", "--as", "harbor", *map(str, words)])


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def responses_of(folder):
    """Return the responses of a folder's reference solution."""
    lines = (folder / "solution" / "solve.sh").read_text(encoding="utf-8")
    program = shlex.split(lines.partition("set -e\n")[2])
    assert program[::2] == ["game"] * (len(program) // 2)
    return program[1::2]


def test_a_folder_for_each_instance_and_noise_seed(tmp_path, capsys):
    out = tmp_path / "tasks"
    words = ("--env", "FrozenLake-v0", "--instances", 2, "--rollouts", 2, "--first-seed", 5)
    assert export(*words, "--split", "val", "--out", out) == 0
    assert capsys.readouterr().out == f"4 tasks in {out}; harbor run -p {out} plays them\n"
    names = [f"frozenlake-v0-val-{seed:04}-noise-{noise}" for seed in (5, 6) for noise in (0, 1)]
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        assert files(out / name) == FILES
    task = Task("ragen/FrozenLake-v0", 6, 1, "val", "plain")
    assert read_task(out / names[3] / "tests" / "task.json") == task
    first, _ = gymnasium.make(task.env, split="val", response_format="plain").reset(seed=6)
    assert first in (out / names[3] / "instruction.md").read_text(encoding="utf-8")
    config = tomllib.loads((out / names[3] / "task.toml").read_text(encoding="utf-8"))
    assert config["task"]["name"] == f"ragen/{names[3]}"
    assert config["metadata"]["noise_seed"] == 1
    assert config["artifacts"] == [{"source": "/game/responses.jsonl", "service": "game"}]


@pytest.mark.parametrize("id_", first_fast(IDS))
def test_the_verifier_gives_the_solution_the_rewards_of_the_oracle(id_, tmp_path):
    task = Task(id_, 1, 2, "test", "plain")
    write_task_folders(tmp_path, [task])
    [folder] = tmp_path.iterdir()
    episode, record = Episode(id_, "test", "plain"), StringIO()
    episode.reset(1, 2)
    game = Game(open_episode(task), task, record)
    for response in responses_of(folder):
        assert response == episode.oracle()
        expected = episode.step(response)
        reply = game.answer(json.dumps({"response": response}).encode())
        assert (reply["text"], reply["reward"]) == (expected.observation, expected.reward)
    assert episode.done
    rewards = replay(open_episode(task), task, record.getvalue().splitlines())
    assert rewards == {
        "reward": episode.total_reward,
        "success": episode.success,
        "turns": len(episode.turns),
        "score": episode.info["score"],
    }


def test_the_images_install_what_is_asked_for(tmp_path):
    task = Task("ragen/Bandit-v0", 0, response_format="plain")
    for number, (given, command) in enumerate(
        (
            ((), "RUN pip install --no-cache-dir ragen-bench==0.1.0\n"),
            (("one>=1",), "RUN pip install --no-cache-dir ragen-bench==0.1.0 'one>=1'\n"),
            (("ragen-bench @ x",), "RUN pip install --no-cache-dir 'ragen-bench @ x'\n"),
        )
    ):
        write_task_folders(tmp_path / str(number), [task], given)
        [folder] = (tmp_path / str(number)).iterdir()
        for path in ("environment/server/Dockerfile", "tests/Dockerfile"):
            assert command in (folder / path).read_text(encoding="utf-8")
        assert "ragen" not in (folder / "environment" / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--env", "Sokobn-v0"), "unknown environment 'Sokobn-v0'; did you mean ragen/Sokoban-v0?"),
        (
            ("--env", "Sokoban-v0", "--split", "test", "--first-seed", 250, "--instances", 7),
            "the test split of ragen/Sokoban-v0 has 256 instances, 0 to 255; instance 256 is out "
            "of range",
        ),
        (("--env", "Sokoban-v0", "--instances", 0), "instances is at least 1, got 0"),
        (("--env", "Sokoban-v0", "--first-seed", -1), "first_seed is at least 0, got -1"),
        (
            ("--env", "Sokoban-v0", "--split", "sealed"),
            "the sealed split needs a key, which has no place in an image; choose train, val or "
            "test",
        ),
        ((), "--as harbor writes the tasks of one environment; add --env ID"),
        (
            ("oracle", "--env", "Sokoban-v0"),
            "--as harbor writes tasks of an environment; remove RUN or oracle",
        ),
        (
            ("--env", "Sokoban-v0", "--limit", 3),
            "--limit is for `ragen-bench export oracle` only; remove it",
        ),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(words, message, tmp_path, capsys):
    out = tmp_path / "tasks"
    assert export(*words, "--out", out) == 2
    assert capsys.readouterr().err == f"ragen-bench: {message}\n"
    assert not out.exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    assert export("--env", "Sokoban-v0", "--out", tmp_path) == 2
    assert capsys.readouterr().err == (
        f"ragen-bench: {tmp_path} already exists and is not empty; choose another folder\n"
    )
    assert files(tmp_path) == {"mine"}


def test_options_of_harbor_are_for_harbor(tmp_path, capsys):
    assert main(["export", "oracle", "--first-seed", "0", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "ragen-bench: --first-seed is for `--as harbor` only; remove it\n"
    )
    assert main(["export", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "ragen-bench: add a run directory, or oracle, whose episodes to export\n"
    )
