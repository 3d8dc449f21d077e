"""Turns and tokens a second through the harness, beside simpler ways to play, as Markdown tables.

    python benchmarks/harness_throughput.py [--episodes N] [--skip-model]

The definitions of the counts are printed under the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.episodes.runner import chunks, play
from ragen_bench.models import Completion, Request, Sampling
from ragen_bench.models.base import CallEngine, Engine, RequestFailure
from ragen_bench.suites import make_env

AT_ONCE = {"ragen/Sokoban-v0": 256, "ragen/FrozenLake-v0": 256}
ROUNDS = 3
TARGET = 5000
SLOTS = 16
ANSWER = "<think>The way is free.</think><answer>Down</answer>"

NOTES = f"""\
- Turns: {sum(AT_ONCE.values())} episodes of Sokoban and FrozenLake, each turn answered at once
  with the same text. "ragen-bench" is `evaluate`: conversations, environments, records, timings.
  The naive loop makes an environment for every episode, plays one after the other with the same
  conversations and records, and brings each record to the disk by itself. The fastest of {ROUNDS}
  rounds counts.
- Tokens: SmolLM2-135M-Instruct on FrozenLake, test, answers of 64 tokens at most, temperature 0.5.
  "One at a time" and "waves" pass the inputs of transformers' `generate` to its own attention, for
  one conversation and for {SLOTS}, where all wait for the longest answer and environments step in
  between; "continuous" is `hf/`'s engine with {SLOTS} slots, without and with the reuse of what was
  read. All sample the same tokens up to rounding.
- A second of CPU is one of one thread of this process, which other work on the machine disturbs
  less than the clock. Passes are forward passes of the model; rows are the conversations that a
  pass works on, finished ones included that wait for the longest.
- Idle: the share of the time between the first request and the last answer in which no request was
  being worked on, as environments stepped and records were made."""


class AtOnce:
    """A model that answers at once."""

    slots = SLOTS
    group_size = 1

    def identity(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def probe(self) -> str:
        """Return where it is."""
        return "here"

    def engine(self, sampling: Sampling) -> Engine:  # noqa: ARG002 - the protocol's name
        """Return an engine that answers whatever is asked."""
        return CallEngine(lambda requests: [Completion(ANSWER)] * len(requests))


def evaluation(instances: dict[str, int]) -> Evaluation:
    """Return the tasks."""
    return Evaluation(
        model="benchmark",
        suite="",
        instances=instances,
        split="test",
        response_format="think",
        samples=1,
        seed=0,
        temperature=0.5,
        max_tokens=64,
    )


def by_the_harness(path: Path) -> int:
    """Play and record everything; return the number of turns."""
    run = play_run(evaluation(AT_ONCE), AtOnce(), path)
    run.unlock()
    return sum(len(episode.turns) for episode in run.episodes())


def by_a_naive_loop(path: Path) -> int:
    """Play one episode after the other, each record brought to the disk by itself."""
    turns = 0
    path.mkdir()
    for task in evaluation(AT_ONCE).tasks():
        episode = Episode(task, 0, make_env(task.env, task.split, "think"), "think")
        while not episode.over:
            episode.request()
            episode.take(Completion(ANSWER))
            turns += 1
        with (path / "episodes.jsonl").open("a") as lines:
            lines.write(json.dumps(episode.record().as_json()) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
    return turns


def turn_rate(play_all: Callable[[Path], int]) -> float:
    """Return turns a second, of the fastest round."""
    best = 0.0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            begin = perf_counter()
            turns = play_all(Path(folder) / "run")
            best = max(best, turns / (perf_counter() - begin))
    return best


class Watched:
    """An engine, and the time in which it has nothing to do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._left: float | None = None
        self.idle = 0.0

    def submit(self, request: Request) -> None:
        """Pass a request on."""
        self._engine.submit(request)

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Pass answers on, and add the time since the last ones."""
        if self._left is not None:
            self.idle += perf_counter() - self._left
        answers = self._engine.collect()
        self._left = perf_counter()
        return answers

    def close(self) -> None:
        """Pass it on."""
        self._engine.close()


@dataclass
class Way:
    """One way to run the model, with the protocol of a model.

    Attributes:
        make: Makes the engine of a sampling.
    """

    name: str
    slots: int
    group_size: int
    make: Callable[[Sampling], Engine]
    idle: float = 0.0

    def identity(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def probe(self) -> str:
        """Return where it is."""
        return "here"

    def engine(self, sampling: Sampling) -> Engine:
        """Return a watched engine."""
        self._watched = Watched(self.make(sampling))
        return self._watched

    def finish_group(self) -> None:
        """Count the idle time of the last engine."""
        self.idle += self._watched.idle


@dataclass(frozen=True)
class Figures:
    """The result of one harness."""

    turns: int
    tokens: int
    clock: float
    cpu: float
    idle: float
    passes: int
    rows: int


def measure(way: Way, tasks: Sequence[Task], model: Any) -> Figures:
    """Play the tasks in groups, as `evaluate` does."""
    counts = {"passes": 0, "rows": 0}

    def count(_module: Any, _inputs: Any, output: Any) -> None:
        counts["passes"] += 1
        logits = output.logits
        # The continuous engine's rows lie side by side; those of `generate` are a batch.
        counts["rows"] += logits.shape[1] if len(logits) == 1 else len(logits)

    sampling = evaluation({}).sampling
    turns = tokens = 0
    begin, begin_cpu = perf_counter(), process_time()
    hook = model.register_forward_hook(count)
    for group in chunks(tasks, way.group_size):
        for played in play(group, way, sampling, "think"):
            assert played.record is not None
            turns += len(played.record.turns)
            tokens += sum(turn.completion_tokens for turn in played.record.turns)
        way.finish_group()
    hook.remove()
    clock, cpu = perf_counter() - begin, process_time() - begin_cpu
    return Figures(turns, tokens, clock, cpu, way.idle / clock, **counts)


def ways(model: Any, attention: str) -> dict[str, list[Way]]:
    """Return the ways to run the bundled model, by the attention that they need."""
    from ragen_bench.models.hf.model import SlotEngine

    def way(name: str, slots: int, group: int, waves: str = "", reuse: bool = True) -> Way:
        loaded = replace(model._loaded, waves=waves)  # noqa: SLF001 - it is run in ways of our own
        return Way(name, slots, group, lambda sampling: SlotEngine(loaded, sampling, slots, reuse))

    group, compared = 4 * SLOTS, "for the comparison"
    return {
        "sdpa": [
            way("one at a time", 1, group, compared),
            way("waves", SLOTS, SLOTS, compared),
        ],
        attention: [
            way("continuous, all read anew", SLOTS, group, reuse=False),
            way("continuous", SLOTS, group),
        ],
    }


def print_turns() -> None:
    """Measure and print turns a second."""
    harness, naive = turn_rate(by_the_harness), turn_rate(by_a_naive_loop)
    print("| turns a second | | beside the naive loop |\n| --- | ---: | ---: |")
    print(f"| ragen-bench | {harness:,.0f} | {harness / naive:.1f}x |")
    print(f"| naive loop | {naive:,.0f} | 1.0x |")
    print(f"\nTarget: {TARGET:,} turns a second.\n")


def print_tokens(episodes: int) -> None:
    """Measure and print tokens a second."""
    from ragen_bench.models import resolve
    from ragen_bench.models.hf.cache import ATTENTION

    tasks = evaluation({"ragen/FrozenLake-v0": episodes}).tasks()
    model = resolve("smollm2-135m")
    network = model._loaded.model  # noqa: SLF001 - its passes are counted
    print(
        "| tokens a second | by the clock | of CPU | beside one at a time, clock / CPU "
        "| passes | rows a pass | idle |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    first = None
    for attention, several in ways(model, ATTENTION).items():
        network.set_attn_implementation(attention)
        for way in several:
            # An eighth of the episodes is enough for the slowest way to show its rate.
            few = tasks if way.slots > 1 else tasks[: max(1, episodes // 8)]
            found = measure(way, few, network)
            clock, cpu = found.tokens / found.clock, found.tokens / found.cpu
            first = first or (clock, cpu)
            print(
                f"| {way.name} | {clock:.1f} | {cpu:.1f} "
                f"| {clock / first[0]:.1f}x / {cpu / first[1]:.1f}x | {found.passes:,} "
                f"| {found.rows / found.passes:.1f} | {found.idle:.2%} |",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=64, help="FrozenLake episodes a way")
    parser.add_argument("--skip-model", action="store_true", help="only turns, no tokens")
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}\n"
    )
    print_turns()
    if not arguments.skip_model:
        print_tokens(arguments.episodes)
    print(f"\n{NOTES}")


if __name__ == "__main__":
    main()
