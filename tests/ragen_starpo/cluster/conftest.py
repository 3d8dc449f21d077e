"""Runs as a user types them, and the proof that none leaves a process behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from ragen_starpo.warm_start import WarmStartSettings, warm_start
from tests.ragen_starpo.verl_process import (
    in_process_group,  # noqa: F401
    on_one_worker,
    prepare,
    release,
)
from tests.waiting import wait_until

# Engines are registered for verl's platform when they are imported, which the modules beside this
# one do before any fixture.
prepare()
release()

COMMAND = Path(sys.executable).with_name("ragen-train")
_MARK = "RAGEN_TEST_RUN"
_GRACE = 120
"""Seconds that Ray's processes have to end after the command."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    on_one_worker(items, "ragen_starpo/cluster")


@pytest.fixture(scope="package")
def warm(small, tmp_path_factory):
    """The small model, which finds the form of an answer and little more, in 16 bits.

    Its weights are not tied, as are those of models that only one process of several loads.
    """
    folder = tmp_path_factory.mktemp("warm") / "model"
    shown = WarmStartSettings(
        ("FrozenLake-v0",), "answer", 64, 8, 16, learning_rate=1e-2, max_tokens=24
    )
    warm_start(shown, small, folder)
    file = folder / "model.safetensors"
    halves = {name: weight.bfloat16() for name, weight in load_file(file).items()}
    halves["lm_head.weight"] = halves["model.embed_tokens.weight"].clone()
    save_file(halves, file, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    changed = {"dtype": "bfloat16", "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps({**config, **changed}))
    return folder


@pytest.fixture(scope="package")
def thinking(warm, tmp_path_factory):
    """The same model with its tags renamed: what it answers reads as a thought, and "Up" after it.

    So it has thoughts of several tokens without having learned any.
    """
    folder = tmp_path_factory.mktemp("thinking") / "model"
    shutil.copytree(warm, folder)
    file = folder / "tokenizer.json"
    text = file.read_text(encoding="utf-8").replace('"</answer>"', '"</think><answer>Up</answer>"')
    file.write_text(text.replace('"<answer>"', '"<think>"'), encoding="utf-8")
    return folder


@pytest.fixture
def typed():
    """Runs `ragen-train` and returns its code, output and errors; what it leaves is a failure."""
    mark = uuid.uuid4().hex

    def run(*arguments):
        environment = {**os.environ, _MARK: mark, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=1800,  # two nodes of Ray import for minutes beside other tests
            check=False,
        )
        wait_until(lambda: not left_by(mark), _GRACE)
        return done.returncode, done.stdout, done.stderr

    yield run
    for process in left_by(mark):
        os.kill(process, signal.SIGKILL)


def left_by(mark):
    """Return the ids of processes that began in a run."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and f"{_MARK}={mark}".encode() in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found
