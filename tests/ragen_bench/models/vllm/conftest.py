"""Three programs with vLLM that start together: answers, a run of the command, a server."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

from ragen_bench.models.bundled import converted_folder
from tests.waiting import wait_until

from ..api.llama import free_port
from ..hf_models import save_tiny
from . import server as serving
from .place import PYTHON, environment
from .questions import CONTEXT

RUN = ["--suite", "quick", "--limit", "4", "--max-tokens", "6", "--history", "none"]
"""Two groups of episodes."""
SLOTS = ["--concurrency", "2"]
SIZE = {
    "hidden_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 2048,
}
"""Heads of 64 channels, as vLLM's attention on CPUs takes them."""
_PATIENCE = 540


def command_of(model_name):
    """Return the module and the arguments of the run."""
    return ("ragen_bench", "evaluate", model_name, *RUN, *SLOTS, "--out", "run")


class Starter:
    """A process that has imported vLLM, and its forks: a program in each of some folders."""

    def __init__(self, place):
        self._place = place
        command = [PYTHON, "-m", "tests.ragen_bench.models.vllm.starter"]
        with (place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def folder(self, name):
        """Return the folder of a program, which may start with files."""
        folder = self._place / name
        folder.mkdir(exist_ok=True)
        return folder

    def start(self, name, module, *arguments):
        """Start a program in its folder."""
        program = [module, [*map(str, arguments)], str(self.folder(name))]
        self._process.stdin.write(json.dumps(program) + "\n")
        self._process.stdin.flush()

    def said(self, name):
        """Return what a program has said, or why there is none."""
        log = self._place / name / "log"
        return (log if log.exists() else self._place / "log").read_text()[-3000:]

    def ended(self, name):
        """Whether a program has, by itself or with the process that started it."""
        return (self._place / name / "code").exists() or self._process.poll() is not None

    def finish(self, name):
        """Wait until a program has ended well, and return its folder."""
        wait_until(lambda: self.ended(name), _PATIENCE)
        code = self._place / name / "code"
        assert code.exists(), self.said(name)
        assert code.read_text() == "0", self.said(name)
        return self._place / name

    def stop(self):
        """Let the programs end their own processes, and end what is left."""
        self._process.terminate()
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="session")
def bundled():
    if not PYTHON.exists():
        pytest.skip("vLLM's environment is made by `make test`, on Linux")
    return converted_folder()


@pytest.fixture(scope="session")
def folder(bundled, tmp_path_factory):
    """The bundled model with a short context, and with settings that must not count."""
    place = tmp_path_factory.mktemp("model")
    for file in bundled.iterdir():
        try:
            (place / file.name).hardlink_to(file)
        except OSError:  # another file system
            shutil.copy(file, place)
    config = json.loads((place / "config.json").read_text())
    settings = {"repetition_penalty": 1.9, "top_k": 1, "temperature": 0.1, "eos_token_id": 2}
    for name, content in (
        ("config.json", {**config, "max_position_embeddings": CONTEXT}),
        ("generation_config.json", settings),
    ):
        (place / name).unlink()
        (place / name).write_text(json.dumps(content))
    return place


@pytest.fixture(scope="session")
def model_name(bundled, tmp_path_factory):
    """A model of random weights: `auto` is bfloat16, in which some processors are very slow."""
    folder = save_tiny(tmp_path_factory.mktemp("random"), **SIZE)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float32"}))
    return f"vllm/{folder}"


@pytest.fixture(scope="session")
def port():
    return free_port()


@pytest.fixture(scope="package")
def processes(bundled, folder, model_name, port, tmp_path_factory):
    """All of them, begun at once, since they share the imports of half a minute."""
    programs = {
        "answers": ("tests.ragen_bench.models.vllm.answers", folder, "answers.json"),
        "run": command_of(model_name),
        "server": serving.program(bundled, port),
    }
    starter = Starter(tmp_path_factory.mktemp("vllm"))
    for name, program in programs.items():
        starter.start(name, *program)
    yield starter
    starter.stop()


@pytest.fixture(scope="package")
def answers(processes):
    """What `answers.py` wrote."""
    return json.loads((processes.finish("answers") / "answers.json").read_text())


@pytest.fixture(scope="package")
def finished(processes):
    """What the command said, and its run directory."""
    place = processes.finish("run")
    return (place / "log").read_text(), place / "run"


@pytest.fixture(scope="package")
def url(processes, port):
    url = f"http://127.0.0.1:{port}/v1"
    wait_until(lambda: serving.is_ready(url) or processes.ended("server"), serving.PATIENCE)
    assert not processes.ended("server"), processes.said("server")
    return url
