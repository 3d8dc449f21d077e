"""What an agent's process may do to the scorer: end the run in one line, and nothing else."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.models.base import Request
from ragen_bench.runs.directory import read_run
from tests.links import ROOT
from tests.ragen_bench.models.own_agent import LAKE, SAMPLING, played, run_of
from tests.waiting import wait_until

from .agents import KINDS, make_subprocess_model, on_linux

pytestmark = pytest.mark.slow

PIPE = """
import gc, os, struct
from ragen_bench.models.agents import worker


def answer(messages):
    [out] = [one for one in gc.get_objects() if isinstance(one, worker._ReplyWriter)]
    send = lambda data: os.write(out._descriptor, struct.pack(">I", len(data)) + data)
    BODY
    return ""
"""
FIRST = f"({LAKE}, instance 0, sample 0, turn 0)"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os.write(out._descriptor, b'\\x40\\0\\0\\0')", "sent a message of 1,073,741,824 bytes"),
        ("send(b'NaN')", "sent a message that is not JSON"),
        ("send(b'{}')", "sent a message of no known shape"),
        ("os.close(out._descriptor)", "ended with exit code 1"),
        ("os._exit(3)", "ended with exit code 3"),
    ],
)
def test_invalid_messages_end_the_run_in_one_line(agent, capfd, body, says):
    agent(PIPE.replace("BODY", body))
    with pytest.raises(UserError, match=says) as caught:
        played(make_subprocess_model())
    said = str(caught.value)
    assert "python:own_agent:answer" in said
    assert said.endswith(FIRST)
    assert "\n" not in said
    assert caught.value.exit_code == 1


@on_linux
def test_last_stderr_line_of_a_sandboxed_agent_is_shown_escaped(agent):
    source = "import os\n\ndef answer(messages):\n    os.write(2, b'so\\n\\x1b[31mred')\n"
    agent(source + "    os.kill(os.getpid(), 9)\n")
    with pytest.raises(UserError, match="ended with exit code 137: ") as caught:
        played(make_subprocess_model(kind="sandbox"))
    assert str(caught.value).endswith(rf": \x1b[31mred {FIRST}")


def test_an_answer_that_nobody_asked_for_is_dropped(agent):
    reply = b'{"kind":"Answered","number":%d,"text":"%s","reasoning":"","prompt_tokens":0,'
    reply += b'"completion_tokens":0}'
    agent(PIPE.replace("BODY", f"send({reply!r} % (10 ** 6, b'late'))"))
    turns = [turn for one in played(make_subprocess_model()) for turn in one.record.turns]
    assert {turn.answer for turn in turns} == {""}


@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_of_output_does_not_block(agent, capfd, kind):
    source = "import sys\n\ndef answer(messages):\n    sys.stdout.write('x' * 2_000_000)\n"
    agent(source + "    sys.stderr.write('y' * 100_000)\n    return 'Up'\n")
    engine = (model := make_subprocess_model(kind=kind)).engine(SAMPLING)
    engine.submit(Request([], "x", played_in("plain")))
    assert [answer.text for _, answer in engine.collect()] == ["Up"]
    said = capfd.readouterr()
    assert (len(said.out), len(said.err)) == ((0, 0) if model._sandboxed else (2_000_000, 100_000))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("process", "while True: pass"),
        pytest.param("sandbox", "while True: print('x' * 1000)", marks=on_linux),
    ],
)
def test_an_answer_that_takes_too_long_ends_the_run(agent, monkeypatch, kind, body):
    agent(f"def answer(messages):\n    {body}\n")
    model = make_subprocess_model(kind=kind)
    monkeypatch.setattr(model, "_isolation", model._isolation.__class__(seconds=0.5))
    monkeypatch.setattr("ragen_bench.models.agents.process._GRACE", 0.5)
    with pytest.raises(UserError) as caught:
        played(model)
    assert str(caught.value) == (
        f"python:own_agent:answer took more than 0.5 s for an answer {FIRST}; "
        "--timeout S gives it more"
    )


@on_linux
def test_memory_of_a_sandboxed_agent_is_limited(agent, tmp_path):
    source = (
        "import os, tempfile\n\n"
        "def answer(messages):\n"
        "    kept = bytearray(1 << 28)\n"
        "    with tempfile.TemporaryFile() as file:\n"
        "        try:\n"
        "            for _ in range(100): file.write(bytes(1 << 20))\n"
        "        except OSError: kept = None\n"
        "    assert kept is None\n"
        "    kept = bytearray(1 << 32)\n"
    )
    agent(source)
    with pytest.raises(UserError, match=r"raised MemoryError \(own_agent.py, line 10, in answer"):
        played(make_subprocess_model(kind="sandbox"))


@on_linux
def test_a_sandboxed_agent_of_root_cannot_change_the_kernel(agent):
    agent("def answer(messages):\n    open('/proc/sys/kernel/core_pattern', 'r+')\n")
    with pytest.raises(UserError, match=r"raised (OSError|PermissionError): "):
        played(make_subprocess_model(kind="sandbox"))


def test_finished_episodes_are_kept_and_a_new_process_goes_on(agent, tmp_path):
    agent(
        "import os\nfrom pathlib import Path\n\n"
        "def answer(messages):\n"
        "    first = len(messages) == 4\n"
        "    with open('begun', 'a') as file: file.write('x' * first)\n"
        "    if Path('begun').read_text() == 'xxx' and not Path('paper').exists(): os._exit(0)\n"
        "    return 'nothing'\n"
    )
    model = make_subprocess_model()
    with pytest.raises(UserError, match="ended with exit code 0"):
        play_run(run_of(), model, tmp_path / "run")
    assert [episode.index for episode in read_run(tmp_path / "run").episodes()] == [0, 1]
    (tmp_path / "paper").touch()
    play_run(run_of(), model, tmp_path / "run").unlock()
    assert len(list(read_run(tmp_path / "run").episodes())) == 3


def test_an_edited_agent_does_not_restart(agent):
    agent("import os\n\ndef answer(messages):\n    os._exit(0)\n")
    model = make_subprocess_model()
    with pytest.raises(UserError, match="ended with exit code 0"):
        played(model)
    Path("own_agent.py").write_text("def answer(messages):\n    return ''\n")
    with pytest.raises(UserError, match="has changed since it was loaded"):
        played(model)


SCORER = """
from types import SimpleNamespace
from ragen_bench.models.base import Request
from tests.ragen_bench.models.agents.agents import make_subprocess_model
from tests.ragen_bench.models.own_agent import SAMPLING

engine = make_subprocess_model(kind="KIND").engine(SAMPLING)
engine.submit(Request([], "x", SimpleNamespace(response_format="plain")))
engine.collect()
"""
BUSY = """
import os, time

def answer(messages):
    with open("/proc/self/stat") as file:
        print(file.read())
    try:
        time.sleep(600)
    finally:
        open("ended", "w").close()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_subprocess_ends_with_the_scorer(agent, tmp_path, how):
    agent("import os\nopen('pid', 'w').write(str(os.getpid()))\n" + BUSY)
    program = [sys.executable, "-c", SCORER.replace("KIND", "process")]
    # The scorer's program imports from the tests.
    finds_tests = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(program, env=finds_tests, **pipes) as scorer:
        assert scorer.stdout.readline(), scorer.communicate()
        scorer.send_signal(how)
        scorer.communicate(timeout=60)
    wait_until((tmp_path / "ended").exists)  # what it does at its end is done
    wait_until(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_closing_the_engine_cancels_an_async_agent(agent, tmp_path):
    agent(
        "import asyncio\n\nasync def answer(messages):\n"
        "    print('begun', flush=True)\n    open('begun', 'w').close()\n"
        "    try:\n        await asyncio.sleep(600)\n"
        "    finally:\n        open('ended', 'w').close()\n"
    )
    engine = make_subprocess_model().engine(SAMPLING)
    engine.submit(Request([], "x", played_in("plain")))
    wait_until((tmp_path / "begun").exists)
    engine.close()
    wait_until((tmp_path / "ended").exists)


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{number}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def played_in(form):
    return SimpleNamespace(response_format=form)
