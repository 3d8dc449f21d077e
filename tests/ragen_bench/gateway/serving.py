"""A gateway, an agent, an endpoint that gives scripted answers, and a receiver of rewards."""

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest

from ragen_bench.gateway.server import GatewayServer
from ragen_bench.gateway.table import make_settings
from tests.ragen_bench.pages.serving import serving

WIN = ("Left || Left", "Up || Up")
"""What solves instance 1 of Sokoban-v0's test split."""


@contextmanager
def gateway(folder, env="Sokoban-v0", split="test", response_format="plain", **settings):
    """Yield a gateway whose results are in a folder."""
    settings = {"out": folder / "episodes.jsonl", "retries": 0, **settings}
    with serving(GatewayServer(make_settings(env, split, response_format, **settings))) as server:
        yield server


def ask(url, body=None, **headers):
    """Return status and JSON of a reply; a body is posted."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def refusal(reply):
    """Return status and message of an error in OpenAI's form."""
    status, content = reply
    assert content["error"]["type"] == "invalid_request_error"
    return status, content["error"]["message"]


class Listener:
    """Answers each POST with `respond(path, body)`, a status and JSON; keeps all requests."""

    def __init__(self, respond):
        self.requests = requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(("GET", self.path, None, None))
                self.send_error(405)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                requests.append(("POST", self.path, self.headers["Authorization"], body))
                status, content = respond(self.path, body)
                sent = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def bodies(self, end):
        """Return the bodies of the requests to paths with an end."""
        return [body for _, path, _, body in self.requests if path.endswith(end)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def completion(text, finish="stop"):
    """Return a server's response in OpenAI's protocol."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57},
    }


class Agent:
    """An agent of its own that keeps the conversation."""

    def __init__(self, server, key="a", model="1"):
        self.client = openai.OpenAI(base_url=f"{server.url}v1", api_key=key, max_retries=0)
        self.model, self.messages = model, []

    def send(self):
        return self.client.chat.completions.create(model=self.model, messages=self.messages)

    def say(self, text="Begin."):
        self.messages.append({"role": "user", "content": text})
        reply = self.send()
        content = reply.choices[0].message.content
        self.messages.append({"role": "assistant", "content": content})
        return reply.ragen

    def refusal(self, messages=None):
        self.messages = self.messages if messages is None else messages
        with pytest.raises(openai.BadRequestError) as error:
            self.send()
        return error.value.body["message"]


def lines(folder):
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
