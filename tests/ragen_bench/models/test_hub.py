"""Names of models that are folders or the hub's."""

import socket
import subprocess
import sys
import time

import huggingface_hub.constants
import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import hub
from ragen_bench.models.hub import find_model, find_problem
from ragen_bench.models.provider import ModelSettings, find_provider


@pytest.fixture
def closed(monkeypatch, tmp_path):
    """A hub that refuses connections, and an empty cache."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        yield url


@pytest.mark.parametrize("name", ["nowhere", "owner/name"])
def test_no_folder_and_no_hub_are_one_line(closed, name):
    with pytest.raises(UserError) as refused:
        find_model(name)
    assert str(refused.value) == (
        f"there is no folder '{name}', and the hub cannot be reached ({closed}: Connection "
        "refused): give the folder of a model, or connect to the hub"
    )


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/model", "~/nowhere", "a/b/c", "a b"])
def test_a_path_is_not_searched_on_the_hub(monkeypatch, name):
    monkeypatch.setenv("HOME", "/home/user")
    with pytest.raises(UserError, match="; give the folder of a model"):
        find_model(name)


def test_a_cached_model_needs_no_hub(closed, tmp_path):
    snapshot = tmp_path / "cache/models--owner--name/snapshots/abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").touch()
    assert find_model("owner/name") == "owner/name"
    # Its libraries do not try to reach it.
    assert huggingface_hub.constants.HF_HUB_OFFLINE
    with pytest.raises(UserError, match="HF_HUB_OFFLINE is on"):
        find_model("owner/other")


def test_a_training_run_s_best_model_is_suggested(tmp_path):
    for inner in ("final", "best"):
        (tmp_path / "run" / inner).mkdir(parents=True)
        (tmp_path / "run" / inner / "config.json").touch()
        with pytest.raises(UserError, match=f"no config.json; did you mean .*/run/{inner}\\?"):
            find_model(str(tmp_path / "run"))


@pytest.mark.parametrize("provider", ["hf", "vllm"])
def test_a_suggested_folder_can_be_typed_as_it_is_shown(provider, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run" / "best").mkdir(parents=True)
    (tmp_path / "run" / "best" / "config.json").touch()
    with pytest.raises(UserError, match=f"no config.json; did you mean {provider}/run/best\\?"):
        find_provider(f"{provider}/run").load("run", ModelSettings())


def test_the_home_folder_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    with pytest.raises(UserError, match="is not a model folder"):
        find_model("~/model")
    (tmp_path / "model/config.json").write_text("{}")
    assert find_model("~/model") == str(tmp_path / "model")


def test_a_hub_that_listens_can_be_reached(closed):
    assert find_problem(closed).endswith("Connection refused")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert find_problem(f"http://127.0.0.1:{server.getsockname()[1]}") == ""


def test_a_hub_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(hub, "_try_to_reach", lambda _: time.sleep(9) or "")
    monkeypatch.setattr(hub, "_SECONDS", -0.4)
    assert find_problem("http://hub") == "no answer from http://hub"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("ragen_bench", ["evaluate", "hf/nowhere"]),
        pytest.param("ragen_bench", ["doctor", "hf/nowhere"], marks=pytest.mark.slow),
        pytest.param(
            "ragen_starpo",
            ["local", "small", "model=no/where", "--out", "run"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "ragen_starpo",
            ["warm-start", "no/where", "--out", "run", "--env", "Bandit-v0"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_command_answers_before_it_imports_transformers(
    closed, tmp_path, monkeypatch, program, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", closed)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    code = f"import sys; from {program}.cli import main; code = main({words})\n"
    code += "sys.exit('transformers' in sys.modules or code != 1 + ('doctor' not in sys.argv))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert "there is no folder" in text
    assert "the hub cannot be reached" in text
