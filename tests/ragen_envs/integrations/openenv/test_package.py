"""The folder that `ragen-envs package` writes, as OpenEnv's own validation sees it."""

import json
import runpy
import tomllib
from contextlib import ExitStack

import pytest
import yaml
from openenv.cli.__main__ import app as openenv_command
from openenv.validation import Level, run_validation
from typer.testing import CliRunner

from ragen_envs import IDS
from ragen_envs.cli import main
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.integrations.bridging import Episode

from .running import running

pytestmark = pytest.mark.slow

FOREIGN = f"{__package__}.foreign:foreign/Guess-v0"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "package"


def package(folder, *words):
    return main(["package", *words, "--openenv", "--out", str(folder)])


def validated(*words):
    return CliRunner().invoke(openenv_command, ["validate", *map(str, words)])


def test_the_folder_passes_openenv_validate(folder, capsys):
    assert package(folder, "ragen/Sokoban-v0") == 0
    assert capsys.readouterr().out == (
        f"{folder}  check it with: openenv validate {folder} --level static\n"
    )
    done = validated(folder, "--level", "static")
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "Verdict: PASS")
    done = validated(folder, "--skip-build", "--json")
    assert done.exit_code == 0
    # What is not built is skipped.
    assert {result["status"] for result in json.loads(done.output)["results"]} == {"pass", "skip"}


class Running:
    """A provider of OpenEnv's validation that runs the folder's server here, in a thread."""

    name = "thread"
    capabilities = frozenset({"image_build"})
    supported_network_modes = frozenset({"no-network"})

    def build(self, root, execution):
        self.root = root
        return f"sha256:{0:064}"

    def start(self, spec):
        self.stack = ExitStack()
        served = runpy.run_path(str(self.root / "server" / "app.py"))["app"]
        self.base_url = self.stack.enter_context(running(served))
        return self

    def inspect(self):
        return {}

    def stop(self):
        self.stack.close()


@pytest.mark.parametrize(
    ("env", "more"),
    [
        ("ragen/Sokoban-v0", ()),
        ("ragen/TwentyQuestions-v0", ("--split", "test", "--response-format", "plain")),
        (FOREIGN, ("--reward-range", "0", "1")),
    ],
)
def test_the_folders_server_passes_the_runtime_checks(folder, env, more):
    assert package(folder, env, *more) == 0
    report = run_validation(folder, max_level=Level.RUNTIME, provider=Running())
    outcomes = {result.check_id: result.status.value for result in report.results}
    checks = ("startup", "reward_well_formed", "observation_schema", "state_contract")
    assert {outcomes[f"runtime.{check}"] for check in checks} == {"pass"}
    assert "fail" not in outcomes.values()
    assert "error" not in outcomes.values()


def test_a_running_server_passes_openenv_validate():
    with running("ragen/FrozenLake-v0") as url:
        done = validated("--url", url)
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "Verdict: PASS")


def test_what_the_image_installs(folder, tmp_path):
    wheel = tmp_path / "ragen_bench-9-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    more = ("--wheel", str(wheel), "--requirement", "other>=1", "--reward-range", "0", "1")
    assert package(folder, FOREIGN, *more) == 0
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [
        f"ragen-bench[openenv] @ file:///app/{wheel.name}",
        "openenv>=0.10,<0.11",
        "other>=1",
    ]
    assert (folder / wheel.name).read_bytes() == b"wheel"
    module, _, function = project["scripts"]["server"].partition(":")
    assert callable(runpy.run_path(str(folder / f"{module.replace('.', '/')}.py"))[function])
    assert 'CMD ["server"]' in (folder / "Dockerfile").read_text().splitlines()


@pytest.mark.parametrize("env", IDS)
def test_the_rewards_are_within_what_is_declared(folder, env):
    assert package(folder, env) == 0
    manifest = yaml.safe_load((folder / "openenv.yaml").read_text())["validation"]
    low, high = manifest["reward"]["range"]
    episode, stream = Episode(env, split="test"), RandomStream("rewards")
    for seed in range(8):
        for player in (oracle_answer, lambda env: random_answer(env, stream), lambda _: "?"):
            episode.reset(seed)
            while not episode.done:
                turn = episode.step(player(episode.env.unwrapped))
                assert low <= turn.reward <= high
    sizes = manifest["capabilities"]["declared_task_count"]
    assert sizes["test"] == episode.instances


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((FOREIGN,), f"the rewards of {FOREIGN} are unknown; add --reward-range"),
        (("ragen/Bandit-v0", "--reward-range", "1", "0"), "goes from low to high, got 1 to 0"),
        (("ragen/Bandit-v0", "--wheel", "none.whl"), "none.whl: No such file or directory"),
        (("ragen/Nim-v0",), "environment 'ragen/Nim-v0' is not known"),
    ],
)
def test_what_cannot_be_packaged_is_one_line(folder, capsys, words, message):
    assert package(folder, *words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("ragen-envs: ")
    assert message in line


def test_a_folder_that_holds_something_is_left_alone(folder, capsys):
    folder.mkdir()
    (folder / "mine").write_text("")
    assert package(folder, "ragen/Bandit-v0") == 2
    assert f"{folder} already exists and is not empty" in capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["mine"]


def test_the_sealed_split_is_not_packaged(folder, capsys, monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", "0" * 64)
    assert package(folder, "ragen/FrozenLake-v0", "--split", "sealed") == 2
    assert "has no place in an image" in capsys.readouterr().err
    assert not folder.exists()
