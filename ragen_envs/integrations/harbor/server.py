"""The game's side of a task: one episode, played over a Unix socket.

    python -m ragen_envs.integrations.harbor.server TASK SOCKET RESPONSES

A request is a JSON object that ends with the writing side of its connection. With the key
`response` it plays a turn; without, it asks for the current state.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from threading import Lock
from typing import TextIO

from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, Task

RESPONSES = "responses.jsonl"
"""Name of the file of responses: one JSON object a turn, with the response and its reward."""
_REQUEST = 1 << 23
"""Maximum bytes of a request."""
_IDLE = 60.0
"""Seconds that a client may take to send its request."""


def write_task(task: Task) -> str:
    """Return a task as JSON."""
    return json.dumps(asdict(task)) + "\n"


def read_task(path: Path) -> Task:
    """Return the task of a file that `write_task` wrote."""
    return Task(**json.loads(path.read_text(encoding="utf-8")))


def open_episode(task: Task) -> Episode:
    """Return a task's environment before its reset."""
    return Episode(task.env, task.split, task.response_format)


class Game:
    """One episode of a task; each response is recorded before it is answered."""

    def __init__(self, episode: Episode, task: Task, record: TextIO) -> None:
        self._episode, self._record, self._lock = episode, record, Lock()
        self._text = episode.reset(task.seed, task.noise_seed)

    def answer(self, data: bytes) -> Info:
        """Return the reply to a request: the state, or `error` with the reason of a refusal."""
        try:
            request = json.loads(data)
        except (ValueError, RecursionError):
            return {"error": "a request is a JSON object"}
        if not isinstance(request, dict) or set(request) - {"response"}:
            return {"error": "a request has the key response, or none"}
        with self._lock:
            if "response" not in request:
                return self._state()
            if not isinstance(request["response"], str):
                return {"error": "a response is a text"}
            if self._episode.done:
                return {"error": "the episode is over; the response was not played"}
            turn = self._episode.step(request["response"])
            line = {"response": request["response"], "reward": turn.reward}
            self._record.write(json.dumps(line) + "\n")
            self._record.flush()
            self._text = turn.observation
            return self._state()

    def _state(self) -> Info:
        turns = self._episode.turns
        return {
            "text": self._text,
            "reward": turns[-1].reward if turns else 0.0,
            "terminated": bool(turns) and turns[-1].terminated,
            "truncated": bool(turns) and turns[-1].truncated,
            "success": self._episode.success,
        }


class GameServer(ThreadingUnixStreamServer):
    """Answers requests at a Unix socket that any user may connect to."""

    daemon_threads = True

    def __init__(self, path: str, game: Game) -> None:
        self.game = game
        super().__init__(path, _Handler)
        Path(path).chmod(0o666)


class _Handler(StreamRequestHandler):
    timeout = _IDLE
    server: GameServer

    def handle(self) -> None:
        try:
            data = self.rfile.read(_REQUEST + 1)
            too_long = {"error": f"a request has at most {_REQUEST} bytes"}
            reply = self.server.game.answer(data) if len(data) <= _REQUEST else too_long
            self.wfile.write(json.dumps(reply).encode())
        except OSError:
            return  # the client has gone; its turn is recorded


def main(task_file: str, path: str, responses: str) -> None:
    """Serve a task until the process ends; ValueError if it cannot be played."""
    task = read_task(Path(task_file))
    # A second start would begin the game anew, so the file must not exist.
    with Path(responses).open("x", encoding="utf-8") as record:
        game = Game(open_episode(task), task, record)
        starting = f"{path}.new"
        with GameServer(starting, game) as server:
            Path(starting).rename(path)  # a socket of this name can be connected to
            server.serve_forever()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"the game cannot start: {error}")
