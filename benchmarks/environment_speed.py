"""Steps and resets a second of every environment, beside the peers', as a Markdown table.

    python benchmarks/environment_speed.py
    python benchmarks/environment_speed.py --env ragen/WebShop-v0  # no peers

The definitions of the counts are printed under the table. benchmarks/README.md describes how to
install the peers.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import subprocess
import sys
from importlib.metadata import version
from time import perf_counter
from typing import NamedTuple

import gymnasium
from peers import Peer, check_peers, peers
from steps import (
    NUM_ENVS,
    ROUNDS,
    autoreset_rate,
    best_rate,
    changing_episodes,
    gymnasium_lake_rate,
    step_rate,
    vector_rate,
)

import ragen_envs

TRAIN_RESETS, HELD_OUT_RESETS = 300, 4096
PEER_ROUNDS, PEER_EPISODES, PEER_ACTIONS = 5, 40, 10
IMPORTS = 9

NOTES = f"""\
- A step is one `env.step(answer)`, a turn with one action, on an environment from
  `gymnasium.make`; its text observation is made within it. Every action changes the state (none is
  blocked, save where no other is open), so that the text is drawn anew each time. Resets between
  the episodes are outside of the time.
- `plain` answers are an action's name; `think` answers have the tags and a thought of some 80
  characters that no other answer has.
- A generated reset makes a train instance of a seed that was not seen before, without what
  `oracle_info=True` adds to `info`; a held-out reset goes through the 256 test instances, which
  are in memory. Both give the first observation.
- Peers are what their `make` gives, and play valid actions only: 6x6 with one box and 8x8 with two
  as here, and the boxes that they ship for 6x6 ("its own"); Minesweeper is 5x5 with five mines,
  whose reset draws none before the first step; Mastermind has four of six digits, none twice, and
  no opening. reasoning-gym's countdown has one answer: a reset makes a task, a step scores a sum or
  a product of all numbers, which tells no value. Each step and reset makes a text:
  TextArena's version "-train" with `get_observation`, which gives one string; GEM's board is in
  `info["suffix"]`; Gymnasium's is `render` in mode "ansi" after `step`, and its reset makes a
  random map, an environment for it (the map is an argument), `reset` and `render`. "Bare" is
  without the wrappers of `make` (TextArena's "-raw", which gives a list of messages).
- The fastest round counts, of {ROUNDS} here and {PEER_ROUNDS} of the peers. A peer's rounds have
  the same seeds, as some rooms take far longer than others. Imports: the median of {IMPORTS}
  processes each.
- The vector table has what `gymnasium.make_vec` gives: by default the suite's `TextVectorEnv`, and
  Gymnasium's `SyncVectorEnv` with `vectorization_mode="sync"`, each of {NUM_ENVS} environments. A
  step of a batch counts {NUM_ENVS}. Batches are reset together before a first episode ends, outside
  of the time; in the column "autoreset" they run on, in mode NextStep, with one action for ever,
  and the held-out resets are counted as steps and are in the time. The lines below it do the same
  on new train instances, and with Gymnasium's FrozenLake, one map, at the same limit of turns.
- Left out: upstream RAGEN, which cannot be installed here. GEM has no FrozenLake. WebShop has no
  peer: the package `webshop` 0.1.0 on PyPI imports `web_agent_site`, which no package there has,
  and the repositories that have it want a JDK, spaCy models and products from a file-sharing
  site."""


class Rates(NamedTuple):
    """A line of the table: counts per second; None if a column does not apply."""

    plain: float | None = None
    think: float | None = None
    generated: float | None = None
    held_out: float | None = None


def reset_rate(env_id: str, split: str, resets: int) -> float:
    """Return resets a second; no train seed comes twice, in any round."""
    env = gymnasium.make(env_id, split=split)
    env.reset(seed=1 << 40)

    def measure(number: int) -> tuple[int, float]:
        begin = perf_counter()
        for seed in range(number * resets, (number + 1) * resets):
            env.reset(seed=seed)
        return resets, perf_counter() - begin

    return best_rate(measure)


def own_rates(env_id: str) -> Rates:
    """Measure one of this suite's environments."""
    episodes = changing_episodes(env_id)
    return Rates(
        step_rate(env_id, "plain", episodes),
        step_rate(env_id, "think", episodes),
        reset_rate(env_id, "train", TRAIN_RESETS),
        reset_rate(env_id, "test", HELD_OUT_RESETS),
    )


def peer_rates(peer: Peer) -> Rates:
    """Measure a peer's game: the same seeds and choices in every round."""

    def measure_resets(_: int) -> tuple[int, float]:
        begin = perf_counter()
        for seed in range(PEER_EPISODES):
            peer.reset(seed)
        return PEER_EPISODES, perf_counter() - begin

    def measure_steps(_: int) -> tuple[int, float]:
        steps, seconds, chance = 0, 0.0, random.Random(0)
        for seed in range(PEER_EPISODES):
            assert peer.reset(seed)
            for _ in range(PEER_ACTIONS):
                valid = peer.valid_actions()
                if not valid:  # GEM's Minesweeper goes on until the mines are flagged
                    break
                action = chance.choice(valid)
                begin = perf_counter()
                text, over = peer.step(action)
                seconds += perf_counter() - begin
                steps += 1
                if over:
                    break
                assert text
        return steps, seconds

    return Rates(
        plain=best_rate(measure_steps, PEER_ROUNDS),
        generated=best_rate(measure_resets, PEER_ROUNDS),
    )


def import_seconds(modules: str) -> float:
    """Return how long an import statement takes in a fresh process, interpreter's start aside."""
    code = f"from time import perf_counter as t; a = t(); import {modules}; print(t() - a)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(IMPORTS)
    ]
    return statistics.median(times)


def table(rates: dict[str, Rates]) -> str:
    """Return the Markdown table of all figures, a second."""
    lines = [
        "| environment | step, plain | step, think | reset, generated | reset, held-out |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, row in rates.items():
        cells = ["" if rate is None else f"{rate:,.0f}" for rate in row]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def vector_rates(env_id: str) -> dict[str, tuple[float, float, float]]:
    """Measure batches of one environment: steps with plain and think answers, with autoreset."""
    episodes = changing_episodes(env_id)
    return {
        name: (
            vector_rate(env_id, "plain", episodes, mode),
            vector_rate(env_id, "think", episodes, mode),
            autoreset_rate(env_id, mode),
        )
        for name, mode in (("TextVectorEnv", None), ("SyncVectorEnv", "sync"))
    }


def vector_lines(env_ids: tuple[str, ...]) -> list[str]:
    """Return the Markdown table of batches, and the lines that set it beside the target."""
    lines = [
        f"| {NUM_ENVS} environments | step, plain | step, think | plain, autoreset |",
        "| --- | ---: | ---: | ---: |",
    ]
    verdicts = []
    for env_id in env_ids:
        measured = vector_rates(env_id)
        own, sync = measured["TextVectorEnv"], measured["SyncVectorEnv"]
        for name, rates in measured.items():
            lines.append(f"| {env_id}, {name} | {' | '.join(f'{r:,.0f}' for r in rates)} |")
        ratios = [f"{a / b:.1f}x" for a, b in zip(own, sync, strict=True)]
        lines.append(f"| {env_id}, ratio | {' | '.join(ratios)} |")
        verdicts.append(verdict(f"{env_id} step in a batch, plain", own[0], 500_000, "/s"))
    return [*lines, "", *verdicts, *lake_lines()]


def lake_lines() -> list[str]:
    """Return the lines on FrozenLake in train: alone, and in a batch beside Gymnasium's own."""
    env_id = "ragen/FrozenLake-v0"
    turns = gymnasium.make(env_id).unwrapped.budget.max_turns
    resets = reset_rate(env_id, "train", 4096)
    peer = gymnasium_lake_rate(turns)
    lines = [verdict(f"{env_id} train reset", resets, 15_000, "/s")]
    for split in ("test", "train"):
        rate = autoreset_rate(env_id, None, split)
        what = f"{env_id} {split}, {NUM_ENVS} with resets, {rate / peer:.2f}x Gymnasium's"
        lines.append(verdict(what, rate, 450_000, "/s"))
    return lines


def verdict(what: str, measured: float, target: float, unit: str) -> str:
    """Return a line that sets a figure beside its least target."""
    mark = "reached" if measured >= target else "MISSED"
    return f"- {what}: {measured:,.0f}{unit}, target {target:,.0f}{unit}: {mark}"


def against_targets(rates: dict[str, Rates]) -> list[str]:
    """Return the lines that set the figures beside the targets."""
    lines = []
    for name, others, ratio in (
        (
            "ragen/Sokoban-v0",
            ("TextArena Sokoban 6x6/1", "TextArena Sokoban 6x6/1, bare", "GEM Sokoban 6x6/1"),
            15,
        ),
        (
            "ragen/FrozenLake-v0",
            ("Gymnasium FrozenLake-v1", "Gymnasium FrozenLake-v1, bare"),
            8,
        ),
    ):
        lines.append(verdict(f"{name} step, plain", rates[name].plain or 0, 500_000, "/s"))
        lines.append(verdict(f"{name} step, think", rates[name].think or 0, 500_000, "/s"))
        for peer in others:
            times = (rates[name].plain or 0) / (rates[peer].plain or 1)
            lines.append(verdict(f"{name} step over {peer}", times, ratio, "x"))
    for name, size, least, ratio in (
        ("ragen/Sokoban-v0", "6x6/1", 15_000, 50),
        ("ragen/SokobanLarge-v0", "8x8/2", 4_000, 30),
    ):
        lines.append(verdict(f"{name} generated reset", rates[name].generated or 0, least, "/s"))
        for peer in (f"TextArena Sokoban {size}", f"GEM Sokoban {size}"):
            times = (rates[name].generated or 0) / (rates[peer].generated or 1)
            lines.append(verdict(f"{name} generated reset over {peer}", times, ratio, "x"))
    slowest = min(row.held_out for row in rates.values() if row.held_out is not None)
    lines.append(verdict("held-out reset, slowest id", slowest, 100_000, "/s"))
    return lines


def import_lines() -> list[str]:
    """Return the lines on import times, in ms."""
    modules = ("ragen_envs", "gymnasium", "textarena", "gem")
    ms = {module: 1000 * import_seconds(module) for module in modules}
    more = ms["ragen_envs"] - ms["gymnasium"]
    mark = "reached" if more <= 50 else "MISSED"
    told = ", ".join(f"{module} {ms[module]:.0f} ms" for module in ms)
    return [
        f"- import ragen_envs beyond gymnasium's own: {more:.0f} ms, at most 50 ms: {mark}",
        f"- imports: {told}",
    ]


def main() -> None:
    """Measure everything, or what is named, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", action="append", choices=ragen_envs.IDS, metavar="ID")
    parser.add_argument("--lakes", action="store_true", help="only FrozenLake beside Gymnasium's")
    arguments = parser.parse_args()
    if arguments.env or arguments.lakes:
        print(f"Python {platform.python_version()}, gymnasium {version('gymnasium')}; a second:\n")
    if arguments.env:
        print(table({env_id: own_rates(env_id) for env_id in arguments.env}))
    if arguments.lakes:
        print(*lake_lines(), sep="\n")
    if arguments.env or arguments.lakes:
        return
    check_peers()
    rates = {env_id: own_rates(env_id) for env_id in ragen_envs.IDS}
    for name, peer in peers().items():
        rates[name] = peer_rates(peer)
    versions = ", ".join(
        f"{p} {version(p)}" for p in ("gymnasium", "textarena", "gem-llm", "reasoning-gym")
    )
    print(f"Python {platform.python_version()}, {versions}; a second:\n")
    print(table(rates), *against_targets(rates), *import_lines(), sep="\n")
    print("", *vector_lines(("ragen/Sokoban-v0", "ragen/FrozenLake-v0")), sep="\n")
    print(f"\nWhat was counted:\n\n{NOTES}")


if __name__ == "__main__":
    main()
