"""The command of Harbor's agents over the game's socket; the verifier replays a third."""

import tempfile
from functools import lru_cache
from io import StringIO
from pathlib import Path
from threading import Thread

from ragen_envs.integrations.bridging import Episode
from ragen_envs.integrations.harbor.game import ask
from ragen_envs.integrations.harbor.server import Game, GameServer
from ragen_envs.integrations.harbor.verifier import replay
from tests.ragen_envs.integrations.bridging.scripts import Step

_SOCKET = Path(tempfile.mkdtemp(prefix="ragen-")) / "socket"


@lru_cache(maxsize=1)
def _server():
    server = GameServer(str(_SOCKET), None)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


@lru_cache(maxsize=1)
def _episode(env, split, response_format):
    return Episode(env, split, response_format)


def play(task, answers):
    episode = _episode(task.env, task.split, task.response_format)
    record = StringIO()
    _server().game = Game(episode, task, record)
    first = ask({}, str(_SOCKET))["text"]
    replies = [ask({"response": answer}, str(_SOCKET)) for answer in answers]
    steps = [Step(**{"observation": reply.pop("text"), **reply}) for reply in replies]
    if task.noise_seed:
        return first, steps
    verified = replay(episode, task, record.getvalue().splitlines())
    assert verified["success"] == bool(steps[-1].success)
    assert verified["turns"] == len(steps)
    return first, steps
