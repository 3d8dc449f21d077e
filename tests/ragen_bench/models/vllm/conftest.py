"""Three processes of vLLM that start together: answers, a run of the command, a server."""

import contextlib
import json
import subprocess

import pytest

from ragen_bench.models.bundled import converted_folder

from ..hf_models import save_tiny
from ..server.llama import free_port
from . import server as serving
from .place import PYTHON, environment
from .questions import CONTEXT

RUN = ["evaluate", "--suite", "quick", "--limit", "4", "--max-tokens", "12", "--history", "none"]
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


class Started:
    """A process whose words go to a file."""

    def __init__(self, place, *arguments):
        self.place = place
        self._log = place / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [PYTHON, "-m", *map(str, arguments)],
                cwd=place,
                env=environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def finish(self):
        """Wait until it has ended well, and return what it said."""
        code = self._process.wait(_PATIENCE)
        said = self._log.read_text()
        assert code == 0, said[-3000:]
        return said

    def kill(self):
        self._process.kill()
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
        (place / file.name).symlink_to(file)
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
def processes(bundled, folder, model_name, tmp_path_factory):
    """All of them, begun at once, since each spends half a minute on imports and weights."""
    place = tmp_path_factory.mktemp("vllm")
    for name in ("answers", "run", "server"):
        (place / name).mkdir()
    port = free_port()
    log = place / "server" / "log"
    with contextlib.ExitStack() as stack:
        program = "tests.ragen_bench.models.vllm.answers"
        answers = Started(place / "answers", program, folder, "answers.json")
        stack.callback(answers.kill)
        command = [*RUN[:1], model_name, *RUN[1:], *SLOTS, "--out", "run"]
        run = Started(place / "run", "ragen_bench", *command)
        stack.callback(run.kill)
        with log.open("wb") as words:
            server = serving.start(bundled, port, words)
        stack.callback(serving.stop, server)
        yield {"answers": answers, "run": run, "server": (port, server, log)}


@pytest.fixture(scope="session")
def answers(processes):
    """What `answers.py` wrote."""
    processes["answers"].finish()
    return json.loads((processes["answers"].place / "answers.json").read_text())


@pytest.fixture(scope="session")
def finished(processes):
    """What the command said, and its run directory."""
    return processes["run"].finish(), processes["run"].place / "run"


@pytest.fixture(scope="session")
def url(processes):
    port, process, log = processes["server"]
    url = f"http://127.0.0.1:{port}/v1"
    serving.wait_until_ready(url, process, log)
    return url
