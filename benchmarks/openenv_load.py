"""An OpenEnv server under load: many sessions at once for a while, as a Markdown table.

    PYTHONPATH=. python benchmarks/openenv_load.py [--sessions N] [--seconds N] [--env ID]

The definitions of the counts are printed under the table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from itertools import count
from statistics import quantiles
from time import monotonic, perf_counter, process_time
from typing import NamedTuple

import gymnasium
import psutil
from openenv.core import GenericEnvClient

from ragen_envs import IDS
from ragen_envs.core.policies import oracle_answer

VANISH_EVERY = 64
"""One session in so many vanishes after each episode, and another client comes."""

NOTES = f"""\
- The server is `ragen-envs serve ENV --openenv` in a process of its own; each session is the
  owner's `GenericEnvClient`, all in one other process and one event loop, which answers at once.
- Each session plays an instance of its own over and over, and every text, reward and end is
  compared with plain Gymnasium's. One session in {VANISH_EVERY} drops its connection without a
  farewell after each episode, and a new client takes its place. One more connects and never reads.
- A step's time is what its client waits, among all the others. CPU is of all threads."""


class Episode(NamedTuple):
    """The results of plain Gymnasium for the oracle's responses."""

    seed: int
    first: str
    answers: list[str]
    steps: list[tuple[str, float, bool]]


class Tally:
    """The counts of all sessions."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.resets = self.wrong = self.lost = self.vanished = 0


def expected(env_id: str, seed: int) -> Episode:
    """Play an instance without a server."""
    env = gymnasium.make(env_id, split="test")
    first, _ = env.reset(seed=seed)
    answers: list[str] = []
    steps: list[tuple[str, float, bool]] = []
    while not (steps and steps[-1][2]):
        answers.append(oracle_answer(env.unwrapped))
        text, reward, terminated, truncated, _ = env.step(answers[-1])
        steps.append((text, float(reward), terminated or truncated))
    return Episode(seed, first, answers, steps)


async def play(client: GenericEnvClient, episode: Episode, tally: Tally, until: float) -> None:
    """Play an episode, and compare it."""
    result = await client.reset(seed=episode.seed, split="test")
    tally.resets += 1
    tally.wrong += result.observation["text"] != episode.first
    for answer, (text, reward, done) in zip(episode.answers, episode.steps, strict=True):
        if monotonic() >= until:
            return
        begin = perf_counter()
        result = await client.step({"message": answer})
        tally.waits.append(perf_counter() - begin)
        tally.wrong += (result.observation["text"], result.reward, result.done) != (
            text, reward, done,
        )  # fmt: skip


async def session(url: str, episode: Episode, tally: Tally, until: float, vanishes: bool) -> None:
    """Play until the time is over, with one client or one for each episode."""
    while monotonic() < until:
        client = GenericEnvClient(base_url=url, connect_timeout_s=60, message_timeout_s=60)
        try:
            await client.connect()
            for _ in count():
                await play(client, episode, tally, until)
                if vanishes or monotonic() >= until:
                    break
        except (ConnectionError, RuntimeError, TimeoutError):
            tally.lost += 1
        if vanishes:
            tally.vanished += 1
            client._ws.transport.abort()  # noqa: SLF001 (a client that crashes has no call for it)
        else:
            await client.close()


async def load(url: str, episodes: list[Episode], seconds: float) -> tuple[Tally, float]:
    """Return the counts of all sessions, and their seconds."""
    tally = Tally()
    deaf = GenericEnvClient(base_url=url, connect_timeout_s=60)
    await deaf.connect()
    deaf._ws.transport.pause_reading()  # noqa: SLF001 (as above)
    begin = monotonic()
    until = begin + seconds
    async with asyncio.TaskGroup() as group:
        for number, episode in enumerate(episodes):
            vanishes = number % VANISH_EVERY == 1
            group.create_task(session(url, episode, tally, until, vanishes))
    taken = monotonic() - begin
    deaf._ws.transport.abort()  # noqa: SLF001 (as above)
    return tally, taken


def main() -> None:
    """Serve, play, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--env", default="ragen/Sokoban-v0", choices=IDS, metavar="ID")
    options = parser.parse_args()
    episodes = [expected(options.env, seed) for seed in range(options.sessions)]
    run = "import sys; from ragen_envs.cli import main; sys.exit(main())"
    places = options.sessions + options.sessions // VANISH_EVERY + 2  # those that vanish overlap
    command = [sys.executable, "-c", run, "serve", options.env, "--openenv", "--port", "0"]
    command += ["--max-sessions", str(places)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[2]
        process = psutil.Process(server.pid)
        before, own = process.cpu_times(), process_time()
        tally, taken = asyncio.run(load(url, episodes, options.seconds))
        after, own = process.cpu_times(), process_time() - own
        memory = process.memory_info().rss / 1e6
        threads = process.num_threads()
        server.terminate()
    used = after.user + after.system - before.user - before.system
    cuts = quantiles(tally.waits, n=100)
    steps = len(tally.waits)
    print("| what | figure |\n| --- | ---: |")
    for what, figure in (
        ("sessions at once", f"{options.sessions}"),
        ("seconds", f"{taken:.0f}"),
        ("steps, and a second", f"{steps:,}, {steps / taken:,.0f}"),
        ("resets", f"{tally.resets:,}"),
        ("answers that differ from Gymnasium's", f"{tally.wrong}"),
        ("sessions lost", f"{tally.lost}"),
        ("clients that vanished and were replaced", f"{tally.vanished}"),
        ("a step's wait, median / 99 % / longest, ms",
         f"{1000 * cuts[49]:.0f} / {1000 * cuts[98]:.0f} / {1000 * max(tally.waits):.0f}"),
        ("CPU of a step, server / clients, ms",
         f"{1000 * used / steps:.2f} / {1000 * own / steps:.2f}"),
        ("server's memory, MB, and threads", f"{memory:.0f}, {threads}"),
    ):  # fmt: skip
        print(f"| {what} | {figure} |")
    print(f"\nWhat was counted:\n\n{NOTES}")


if __name__ == "__main__":
    main()
