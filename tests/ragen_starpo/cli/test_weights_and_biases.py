"""What the service is told, as its own files of an offline run have it."""

import json
import re
import struct
import threading
import time
from contextlib import suppress
from socket import gethostname

import psutil
import pytest
import wandb
from wandb.proto.wandb_internal_pb2 import Record

from ragen_bench.errors import UserError
from ragen_starpo.cli.weights_and_biases import WandbRun
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

BLOCK, CLOCK = 1 << 15, ("_runtime", "_timestamp")
KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def service(monkeypatch, tmp_path):
    """Sets environment variables for the service, which reads them once a process."""

    def set_up(**variables):
        wandb.teardown()
        for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_PROJECT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"HOME": tmp_path / "home", **variables}.items():
            monkeypatch.setenv(name, str(value))

    yield set_up
    # Once in a while the service waits for a server that is not there, and never ends.
    last_resort = threading.Timer(60, end_services)
    last_resort.start()
    with suppress(SystemExit):  # of a service that was ended
        wandb.teardown()
    last_resort.cancel()


def end_services():
    for child in psutil.Process().children():
        if child.name() == "wandb-core":
            child.kill()


def records(path):
    """Yield the records of the service's file: LevelDB's log, with a head of its own."""
    content = path.read_bytes()
    place, parts = 7, b""
    while place + 7 <= len(content):
        size, kind = struct.unpack("<4xHB", content[place : place + 7])
        parts += content[place + 7 : place + 7 + size]
        if kind in (1, 4):  # a whole record, or the last part of one
            yield Record.FromString(parts)
            parts = b""
        place += 7 + size
        left = BLOCK - place % BLOCK
        place += left if left < 7 else 0


def text_of(path):
    """Return what a file says; of the service's own file the records, as checksums say anything."""
    if path.suffix == ".wandb":
        return "\n".join(map(str, records(path)))
    return path.read_bytes().decode(errors="replace")


def values(items):
    return {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in items}


def told(folder):
    """Return the figures that offline runs of a folder hold, how each starts, and their exits."""
    figures, starts, exits = [], [], []
    for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        for record in records(path):
            if record.WhichOneof("record_type") == "run":
                run = record.run
                starts.append((run.run_id, run.display_name, values(run.config.update)))
                assert run.host == ""
            elif record.WhichOneof("record_type") == "history":
                line = values(record.history.item)
                figures.append({name: line[name] for name in line if name not in CLOCK})
            elif record.WhichOneof("record_type") == "exit":
                exits.append(record.exit.exit_code)
    return figures, starts, exits


def test_a_resumed_run_goes_on_as_the_same_one(service, tmp_path):
    service(WANDB_MODE="offline", WANDB_API_KEY=KEY)
    settings = {"seed": 3, "rollouts": {"samples": 4}}
    for numbers in ((0, 1), (2,)):
        with suppress(ArithmeticError), WandbRun(tmp_path / "run", "small", settings) as run:
            for number in numbers:
                run.write(number, {"rollout/success": number / 4, "val/success": 0.5})
            if 0 in numbers:
                raise ArithmeticError
        second = int(time.time())  # the service names a start's folder by it
        wait_until(lambda before=second: int(time.time()) > before)
    figures, starts, exits = told(tmp_path / "run")
    assert exits == [1, 0]
    assert figures == [
        {"_step": number, "rollout/success": number / 4, "val/success": 0.5} for number in range(3)
    ]
    identity = (tmp_path / "run/wandb/id.txt").read_text().strip()
    assert [start[:2] for start in starts] == [(identity, "small")] * 2
    assert [{name: start[2][name] for name in settings} for start in starts] == [settings] * 2
    texts = [text_of(path) for path in (tmp_path / "run").rglob("*") if path.is_file()]
    secret = re.compile(rf"{KEY}|\b{re.escape(gethostname())}\b")
    assert not [found for text in texts for found in secret.findall(text)]
    assert any(identity in text for text in texts)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, r"--wandb finds no API key: run `wandb login`, or set WANDB_MODE=offline and "),
        ({"WANDB_MODE": "run"}, r"--wandb finds no API key"),
        ({"WANDB_MODE": "shared"}, r"--wandb finds no API key"),
        (
            {"WANDB_API_KEY": "short"},
            r"--wandb: WANDB_API_KEY invalid: .*; correct it, or set WA",
        ),
        (
            {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_HTTP_TIMEOUT": 1},
            r"--wandb: Failed to .* http://127.0.0.1:9: .*; correct it, or set WANDB_MODE=offline",
        ),
        ({"WANDB_MODE": "foo"}, r"WANDB_MODE: Input should be 'online', 'offline'"),
        ({"WANDB_PROJECT": "a/b"}, r"--wandb: Invalid project name 'a/b'"),
    ],
)
def test_what_cannot_be_told_is_refused_before_it_begins(service, tmp_path, variables, said):
    service(**variables)
    with pytest.raises(UserError, match=said) as refused:
        WandbRun(tmp_path / "run", "small", {}).__enter__()
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()
