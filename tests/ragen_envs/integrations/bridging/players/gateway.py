"""The gateway's conversations over HTTP: a server for an id, an API key for each episode."""

import atexit
import http.client
import json
import tempfile
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from ragen_bench.gateway.server import GatewayServer
from ragen_bench.gateway.table import make_settings
from ragen_bench.suites import held_out_size
from tests.ragen_bench.pages.serving import serving
from tests.ragen_envs.integrations.bridging.scripts import Step

_OPEN = ExitStack()
atexit.register(_OPEN.close)
_KEYS = iter(range(1 << 30))


@lru_cache(maxsize=1)
def served(env, split, response_format):
    _OPEN.close()  # the id before
    folder = Path(_OPEN.enter_context(tempfile.TemporaryDirectory()))
    settings = make_settings(env, split, response_format, out=folder / "episodes.jsonl")
    return _OPEN.enter_context(serving(GatewayServer(settings)))


@lru_cache(maxsize=1)
def connected(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def play(task, answers):
    server = served(task.env, task.split, task.response_format)
    key, messages = str(next(_KEYS)), []
    instance = task.seed % held_out_size(task.env)

    def say(text):
        messages.append({"role": "user", "content": text})
        body = {"model": f"{instance}/{task.noise_seed}", "messages": messages}
        reply = post(server, "v1/chat/completions", body, Authorization=f"Bearer {key}")
        [choice] = reply["choices"]
        messages.append(choice["message"])
        return choice["message"]["content"], reply["ragen"]

    first, _ = say("Begin.")
    steps = []
    for answer in answers:
        observation, told = say(answer)
        ends = told["terminated"], told["truncated"]
        steps.append(Step(observation, told["reward"], *ends, told.get("success")))
        assert told["done"] is any(ends)
    return first, steps


def post(server, place, body, **headers):
    connection = connected(server.server_port)
    connection.request("POST", f"/{server.word}/{place}", json.dumps(body), headers)
    reply = connection.getresponse()
    content = json.loads(reply.read())
    assert reply.status == 200, content
    return content
