"""The `ragen-envs` command, and the one line that it says to a mistake."""

import re
import signal
import subprocess
import sys

import pytest

from ragen_envs import IDS
from ragen_envs.cli import main
from ragen_envs.integrations.openenv.served import hosts_of, listen
from tests.ragen_envs.integrations.openenv.running import client

pytestmark = pytest.mark.slow

SOKOBAN = "ragen/Sokoban-v0"
RUN = "import sys; from ragen_envs.cli import main; sys.exit(main())"


def test_list_shows_every_id(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(IDS)
    assert "6x6, one box" in lines[3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: COMMAND (try `ragen-envs --help`)"),
        (("play",), "invalid choice: 'play'"),
        (("serve", SOKOBAN), "name the protocol: --openenv"),
        (("serve", "ragen/Sokban-v0"), "is not known: did you mean ragen/Sokoban-v0?"),
        (("serve", "FrozenLake-v0", "--openenv"), "did you mean ragen/FrozenLake-v0?"),
        (("serve", "TwentyQuestionsModel-v0"), "did you mean ragen/TwentyQuestionsModel-v0?"),
        (("serve", "ragen/TwentyQuestionsModel-v0"), "needs an answerer"),
        (("serve", "no_such:x/Y-v0"), "no_such cannot be imported"),
        (("serve", "CartPole-v1"), "is not a text environment: its observations are of ndarray"),
        (("serve", SOKOBAN, "--split", "dev"), "split 'dev' is unknown; choose one of"),
        (("serve", SOKOBAN, "--split", "sealed"), "the sealed split needs the host's key"),
        (("serve", SOKOBAN, "--response-format", "xml"), "invalid choice: 'xml'"),
        (("serve", SOKOBAN, "--port", "http"), "invalid int value: 'http'"),
        (("serve", SOKOBAN, "--port", "70000"), "cannot listen on 127.0.0.1 port 70000"),
        (("serve", SOKOBAN, "--host", "no.such.host.invalid"), "cannot listen on no.such.host"),
        (("serve", SOKOBAN, "--host", "0.0.0.0"), "the server is reached from elsewhere"),
        (("serve", SOKOBAN, "--host", "::"), "the server is reached from elsewhere"),
        (("serve", SOKOBAN, "--max-sessions", "0"), "max_sessions is an int of at least 1"),
        (("serve", SOKOBAN, "--idle-timeout", "-1"), "idle_timeout is in seconds and above 0"),
        (("serve", SOKOBAN, "--allow-host", "a b/c"), "is not a name"),
    ],
)
def test_a_mistake_is_one_line(capsys, words, message):
    protocol = [] if words in ((), ("play",), ("serve", SOKOBAN)) else ["--openenv"]
    assert main([*words, *protocol]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("ragen-envs: ")
    assert message in line


def test_a_port_in_use_is_one_line(capsys):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", SOKOBAN, "--openenv", "--port", str(port)]) == 2
    assert capsys.readouterr().err == (
        f"ragen-envs: cannot listen on 127.0.0.1 port {port}: Address already in use "
        f"(while attempting to bind on address ('127.0.0.1', {port})); choose another --port\n"
    )


def test_a_missing_extra_is_one_line():
    without = f"import sys; sys.modules['openenv'] = None; {RUN}"
    done = subprocess.run(
        [sys.executable, "-c", without, "serve", SOKOBAN, "--openenv"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "ragen-envs: ragen_envs.integrations.openenv needs openenv: "
        "pip install 'ragen-bench[openenv]' "
        "(in a checkout: pip install '.[openenv]')\n"
    )


def test_a_server_serves_until_it_is_told_to_end():
    command = [sys.executable, "-c", RUN, "serve", SOKOBAN, "--openenv", "--port", "0"]
    command += ["--split", "test", "--max-sessions", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        line = server.stdout.readline()
        url = re.fullmatch(
            r"ragen/Sokoban-v0 at (http://127.0.0.1:\d+) for OpenEnv: test; 1 sessions at once\n",
            line,
        )[1]
        with client(url) as player:
            player.reset(seed=1)
            assert player.state()["split"] == "test"
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 130


@pytest.mark.parametrize(
    ("host", "allowed", "answered", "unknown"),
    [
        ("127.0.0.1", (), "localhost", "127.0.0.2"),
        ("192.0.2.1", (), "192.0.2.1", "192.0.2.2"),
        ("trainer.example", (), "trainer.example", "example"),
        ("0.0.0.0", ("trainer.example",), "trainer.example", "0.0.0.0"),
        ("::", ("*",), "*", "::"),
        ("2001:db8::1", (), "[2001:db8::1]", "[2001:db8::2]"),
    ],
)
def test_a_server_answers_to_where_it_listens_and_to_what_is_allowed(
    host, allowed, answered, unknown
):
    names = hosts_of(host, allowed)
    assert {"localhost", "127.0.0.1", "[::1]", answered} <= set(names)
    assert unknown not in names
