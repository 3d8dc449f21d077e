"""The game's server, the command `game`, and records that the verifier refuses."""

import io
import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from ragen_envs.integrations.bridging import Task
from ragen_envs.integrations.harbor import game, server, verifier
from ragen_envs.integrations.harbor.server import Game, GameServer, open_episode, write_task

TASK = Task("ragen/FrozenLake-v0", 3, 1, "test", "plain")


@pytest.fixture
def record():
    return io.StringIO()


@pytest.fixture
def path(tmp_path, monkeypatch, record):
    """Return the socket of a running server, which the command `game` connects to."""
    path = str(tmp_path / "socket")
    monkeypatch.setattr(game.ask, "__defaults__", (path,))
    with GameServer(path, Game(open_episode(TASK), TASK, record)) as running:
        thread = Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield path
        running.shutdown()
        thread.join()


def test_the_docs_show_what_the_command_prints(record):
    page = (Path(__file__).parents[4] / "docs" / "harbor.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(\$ game .*?)```", page, re.DOTALL)[1]
    _, *turns = re.split(r"^\$ game (.*)\n", shown, flags=re.MULTILINE)
    assert len(turns) == 4
    game_of_page = Task("ragen/Sokoban-v0", 1, 0, "test", "plain")
    playing = Game(open_episode(game_of_page), game_of_page, record)
    for command, printed in zip(turns[::2], turns[1::2], strict=True):
        data = json.dumps({"response": shlex.split(command)[0]}).encode()
        reply = playing.answer(data)
        end = "The episode is over.\n" if reply["terminated"] else ""
        assert f"{reply['text']}\n{end}" == printed


def connect(path, data):
    """Send raw bytes, and return the reply."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return json.loads(connection.makefile("rb").read())


def test_the_command_plays_an_episode(path, record, capsys, monkeypatch):
    episode = open_episode(TASK)
    first = episode.reset(3, 1)
    for _ in range(2):
        assert game.main([]) == 0
        assert capsys.readouterr().out == f"{first}\n"
    stdin = io.TextIOWrapper(io.BytesIO(b"Up"))
    monkeypatch.setattr(sys, "stdin", stdin)
    for words in (["-"], ["Left", "||", "Right"], ["\udcff"]):
        said = {"-": "Up", "\udcff": "?"}.get(words[0], " ".join(words))
        turn = episode.step(said)
        assert game.main(words) == 0
        assert capsys.readouterr().out == f"{turn.observation}\n"
    while not episode.done:
        turn = episode.step("Up || Down")
        assert game.main(["Up || Down"]) == 0
        end = "The episode is over.\n" if turn.done else ""
        assert capsys.readouterr().out == f"{turn.observation}\n{end}"
    assert game.main(["Up"]) == 1
    assert capsys.readouterr().err == "game: the episode is over; the response was not played\n"
    assert len(record.getvalue().splitlines()) == len(episode.turns)


def test_a_request_that_cannot_be_read_plays_nothing(path, record, monkeypatch):
    assert connect(path, b"[" * 100_000) == {"error": "a request is a JSON object"}
    monkeypatch.setattr(server, "_REQUEST", 100)
    for data, message in (
        (b"", "a request is a JSON object"),
        (b"\xff", "a request is a JSON object"),
        (b"[]", "a request has the key response, or none"),
        (b'{"response": "Up", "reward": 1}', "a request has the key response, or none"),
        (b'{"response": 1}', "a response is a text"),
        (b" " * 101, "a request has at most 100 bytes"),
    ):
        assert connect(path, data) == {"error": message}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(b'{"response": "Up"')  # and goes in the middle of a request
    assert game.ask({})["text"] == open_episode(TASK).reset(3, 1)
    assert record.getvalue() == ""


def test_a_game_that_does_not_answer_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(game.ask, "__defaults__", (str(tmp_path / "none"),))
    assert game.main([]) == 1
    error = capsys.readouterr().err
    assert error.startswith("game: the game does not answer: ")
    assert error.count("\n") == 1


def test_a_second_start_does_not_begin_the_game_anew(tmp_path):
    task, responses = tmp_path / "task.json", tmp_path / "responses.jsonl"
    task.write_text(write_task(TASK), encoding="utf-8")
    responses.write_text("", encoding="utf-8")
    program = [sys.executable, "-m", server.__name__, task, tmp_path / "socket", responses]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("the game cannot start: ")
    assert "File exists" in done.stderr
    assert not (tmp_path / "socket").exists()


def verify(tmp_path, *lines):
    """Return the rewards that the verifier writes for a record of some lines."""
    task, responses, rewards = (tmp_path / name for name in ("task", "responses", "rewards"))
    task.write_text(write_task(TASK), encoding="utf-8")
    responses.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    verifier.main(str(task), str(responses), str(rewards))
    return json.loads(rewards.read_text(encoding="utf-8"))


def test_an_episode_that_stops_in_the_middle_keeps_its_rewards(tmp_path):
    assert verify(tmp_path) == {"reward": 0, "success": 0, "turns": 0}
    episode = open_episode(TASK)
    episode.reset(3, 1)
    reward = episode.step("nothing legal").reward
    line = json.dumps({"response": "nothing legal", "reward": reward})
    assert reward < 0
    assert verify(tmp_path, line) == {"reward": reward, "success": 0, "turns": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "response 1 cannot be read: JSONDecodeError"),
        ("[]", "response 1 cannot be read: TypeError"),
        ('{"response": "Up"}', "response 1 cannot be read: KeyError"),
        (
            '{"response": "Up", "reward": 1.0}',
            "response 1 was rewarded 1 and is worth 0 here; play and verify with the same version",
        ),
    ],
)
def test_a_record_of_another_game_gets_no_reward(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        verify(tmp_path, line)
    assert not (tmp_path / "rewards").exists()


def test_a_response_after_the_end_gets_no_reward(tmp_path):
    episode, lines = open_episode(TASK), []
    episode.reset(3, 1)
    while not episode.done:
        response = episode.oracle()
        lines.append(json.dumps({"response": response, "reward": episode.step(response).reward}))
    assert verify(tmp_path, *lines)["reward"] == episode.total_reward
    with pytest.raises(ValueError, match="comes after the end of the episode"):
        verify(tmp_path, *lines, lines[0])
