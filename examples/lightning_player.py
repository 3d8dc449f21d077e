"""Rollouts of Agent Lightning 1.0 that a gateway plays.

Agent Lightning's controller starts `Player` for each rollout. Trained by its verl trainer, the
settings are

agentlightning.local.agent_class: lightning_player.Player
agentlightning.local.env_map: {INSTANCE: input.instance}

As a program, this plays two groups of four on this machine, through Agent Lightning's own server
and controller. It needs Python 3.12, the package agentlightning, and the server of a model:

OPENAI_BASE_URL=URL MODEL=NAME python lightning_player.py FrozenLake-v0
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from typing import Any
from urllib.error import URLError

INSTANCES, MEMBERS = 2, 4
KEY = "trial"


def ask(url: str, body: object = None) -> Any:
    """Return the JSON reply of a server; a body is posted."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, content, headers)) as reply:
        return json.load(reply)


class Player:
    """Lets the gateway at GATEWAY_URL play one episode, and post its reward."""

    def run(self) -> None:
        """Wait for the end of the episode; one that is not finished fails the rollout."""
        request = {
            "instance": int(os.environ["INSTANCE"]),
            "base_url": os.environ["AGL_OPENAI_BASE_URL"],
            "api_key": os.environ["AGL_KEY"],
            "reward_url": os.environ["AGL_EVENT_URL"],
        }
        ask(f"{os.environ['GATEWAY_URL']}play", request)


def main(environment: str) -> None:
    """Play the groups, and print the rewards that Agent Lightning has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server, model = f"http://127.0.0.1:{port}", os.environ["MODEL"]
    with ExitStack() as stack:

        def start(*command: str, **options: Any) -> subprocess.Popen[str]:
            process = stack.enter_context(subprocess.Popen(command, text=True, **options))
            stack.callback(process.terminate)
            return process

        gateway = (sys.executable, "-m", "ragen_bench", "gateway", "--out", "lightning.jsonl")
        started = start(*gateway, "--env", environment, stdout=subprocess.PIPE)
        assert started.stdout is not None
        url = next(word for word in started.stdout.readline().split() if word.startswith("http"))
        start("agl-server", "host=127.0.0.1", f"port={port}", f"key={KEY}",
              f"default_proxy.model_name={model}", stdout=subprocess.DEVNULL)  # fmt: skip
        while not is_up(f"{server}/healthz"):
            time.sleep(0.2)
        ask(f"{server}/api/models", [{"model": model, "endpoint": os.environ["OPENAI_BASE_URL"]}])
        start("agl-controller", "runner_type=local", f"agl_server.url={server}",
              f"agl_server.key={KEY}", "local_runner.poll_interval=1",
              env={**os.environ, "GATEWAY_URL": url}, stdout=subprocess.DEVNULL)  # fmt: skip
        local = {
            "agent_class": "lightning_player.Player",
            "env_map": {"INSTANCE": "input.instance"},
        }
        made = [
            {"input": {"instance": instance}, "config": {"local": local}}
            for instance in range(INSTANCES)
            for _ in range(MEMBERS)
        ]
        for rollout in ask(f"{server}/api/rollouts", made):
            place = f"{server}/api/rollouts/{rollout['rollout_id']}"
            while (state := ask(place)["rollout"]["status"]["state"]) in ("queuing", "running"):
                time.sleep(0.5)
            events = ask(f"{place}/events")
            requests = sum(event["event_type"] == "model_request" for event in events)
            rewards = [event["data"] for event in events if event["event_type"] == "reward"]
            for data in rewards:
                sys.stdout.write(
                    f"instance {data['instance']}, noise {data['noise_seed']}: {state}, "
                    f"reward {data['value']}, {requests} requests for {data['turns']} turns\n"
                )
        sys.stdout.write(f"{ask(f'{url}results')}\n")


def is_up(url: str) -> bool:
    """Return whether a server answers."""
    try:
        ask(url)
    except URLError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
