"""Steps and resets a second of every environment, beside the peers', as a Markdown table.

    python benchmarks/environment_speed.py

What is counted is printed under the table; benchmarks/README.md says how to install the peers.
"""

from __future__ import annotations

import copy
import importlib
import platform
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import gymnasium
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map

import ragen_envs

ROUNDS = 7
"""Rounds of a measurement, of which the fastest counts: other processes only ever slow one down."""
EPISODES, PASSES = 128, 8
"""Different episodes in a round of steps, and how often each is played in it."""
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
- A generated reset makes a train instance of a seed that was not seen before, with the exact
  ceiling or optimal length in `info`; a held-out reset goes through the 256 test instances, which
  are in memory. Both give the first observation.
- Peers are what their `make` gives, and play valid actions only: 6x6 with one box and 8x8 with two
  as here, and the boxes that they ship for 6x6 ("its own"). Each step and reset makes a text:
  TextArena's version "-train" with `get_observation`, which gives one string; GEM's board is in
  `info["suffix"]`; Gymnasium's is `render` in mode "ansi" after `step`, and its reset makes a
  random map, an environment for it (the map is an argument), `reset` and `render`. "Bare" is
  without the wrappers of `make` (TextArena's "-raw", which gives a list of messages).
- The fastest round counts, of {ROUNDS} here and {PEER_ROUNDS} of the peers. A peer's rounds have
  the same seeds, as some rooms take far longer than others. Imports: the median of {IMPORTS}
  processes each.
- Left out: upstream RAGEN, which cannot be installed here, and a vector class, which is not there
  yet. GEM has no FrozenLake."""


class Rates(NamedTuple):
    """A line of the table: how much of each is done in a second, None for what there is not."""

    plain: float | None = None
    think: float | None = None
    generated: float | None = None
    held_out: float | None = None


class Peer(Protocol):
    """What a peer's game must offer to be measured."""

    def reset(self, seed: int) -> str:
        """Begin a new instance; return its text."""
        ...

    def valid_actions(self) -> list[Any]:
        """Return what may be given to `step` and is not against the rules now."""
        ...

    def step(self, action: Any) -> tuple[str, bool]:
        """Take one action; return the new text and whether the episode is over."""
        ...


class TextArenaSokoban:
    """TextArena's Sokoban with the given size, in its version "-train" or "-raw"."""

    def __init__(self, size: int, boxes: int, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        room = (size, size)
        self.env = textarena.make(f"Sokoban-v0{version}", dim_room=room, num_boxes=boxes)

    def reset(self, seed: int) -> str:
        """Generate a room."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the moves that no wall or box blocks."""
        env = unwrapped(self.env)
        return [f"[{name}]" for name in env.action_space if not env._would_collide_with_wall(name)]

    def step(self, action: str) -> tuple[str, bool]:
        """Move once."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


class TextArenaFrozenLake:
    """TextArena's FrozenLake, 4x4, which does not slip, with random start and goal."""

    def __init__(self, version: str = "-train") -> None:
        textarena = importlib.import_module("textarena")
        self.env = textarena.make(f"FrozenLake-v0-random{version}")

    def reset(self, seed: int) -> str:
        """Generate a lake."""
        self.env.reset(num_players=1, seed=seed)
        return text_of(self.env)

    def valid_actions(self) -> list[str]:
        """Return the steps that stay on the map."""
        env = unwrapped(self.env)
        inside, (y, x) = range(env.size), env.state.game_state["player_pos"]
        moves = env.actions.items()
        return [f"[{name}]" for name, (dy, dx) in moves if y + dy in inside and x + dx in inside]

    def step(self, action: str) -> tuple[str, bool]:
        """Take one step."""
        done, _ = self.env.step(action)
        return text_of(self.env), done


def text_of(env: Any) -> str:
    """Return what TextArena tells its one player now."""
    _, told = env.get_observation()
    return told if isinstance(told, str) else str(told[-1][1])


def unwrapped(env: Any) -> Any:
    """Return TextArena's game without its wrappers."""
    while hasattr(env, "env"):
        env = env.env
    return env


class GemSokoban:
    """GEM's Sokoban with the given size."""

    def __init__(self, size: int, boxes: int) -> None:
        gem = importlib.import_module("gem")
        self.env = gem.make("game:Sokoban-v0-easy", dim_room=(size, size), num_boxes=boxes)

    def reset(self, seed: int) -> str:
        """Generate a room."""
        _, info = self.env.reset(seed=seed)
        return str(info["suffix"])

    def valid_actions(self) -> list[str]:
        """Return the moves that no wall or box blocks."""
        env, form = self.env, "\\boxed{{{}}}".format
        return [form(name) for name in env.action_space if not env._would_collide_with_wall(name)]

    def step(self, action: str) -> tuple[str, bool]:
        """Move once."""
        _, _, terminated, truncated, info = self.env.step(action)
        return info["suffix"], terminated or truncated


class GymnasiumFrozenLake:
    """Gymnasium's FrozenLake-v1, 4x4 and slippery, whose text is its rendering in mode "ansi"."""

    def __init__(self, wrapped: bool = True) -> None:
        self.wrapped = wrapped

    def reset(self, seed: int) -> str:
        """Generate a map, and an environment for it."""
        rows = generate_random_map(size=4, seed=seed)
        self.env: gymnasium.Env[int, int] = (
            gymnasium.make("FrozenLake-v1", desc=rows, render_mode="ansi")
            if self.wrapped
            else FrozenLakeEnv(desc=rows, render_mode="ansi")
        )
        self.env.reset(seed=seed)
        return str(self.env.render())

    def valid_actions(self) -> list[int]:
        """Return all four: a step over the edge is within the rules."""
        return list(range(4))

    def step(self, action: int) -> tuple[str, bool]:
        """Take one step and render."""
        _, _, terminated, truncated, _ = self.env.step(action)
        return str(self.env.render()), terminated or truncated


def best_rate(measure: Callable[[int], tuple[int, float]], rounds: int = ROUNDS) -> float:
    """Return the best count a second over the rounds; each returns its count and its seconds."""
    return max(count / seconds for count, seconds in map(measure, range(rounds)))


def changing_episodes(env_id: str) -> list[list[str]]:
    """Return episodes of random actions, one a turn, that change the state if one can."""
    return [list(_changing_actions(env_id, seed)) for seed in range(EPISODES)]


def _changing_actions(env_id: str, seed: int) -> Iterator[str]:
    env = gymnasium.make(env_id, split="test", response_format="plain").unwrapped
    _, info = env.reset(seed=seed)
    chance, over = random.Random(seed), False
    while not over:
        names = chance.sample(info["legal_actions"], len(info["legal_actions"]))
        for name in names:
            after = copy.deepcopy(env)
            _, _, terminated, truncated, told = after.step(name)
            if told["action_is_effective"]:
                break
        env, info, over = after, told, terminated or truncated
        yield name


def thought(name: str, episode: int, turn: int) -> str:
    """Return an answer in ``think`` format that no other turn has."""
    reasons = f"In game {episode} this is turn {turn}, and of all that I could do {name} is best."
    return f"<think>{reasons}</think><answer>{name}</answer>"


def step_rate(env_id: str, response_format: str, episodes: list[list[str]]) -> float:
    """Return steps a second over the given episodes."""
    env = gymnasium.make(env_id, split="test", response_format=response_format)
    answers = [
        [thought(name, i, turn) if response_format == "think" else name for turn, name in turns]
        for i, turns in enumerate(map(enumerate, episodes))
    ]

    def measure(_: int) -> tuple[int, float]:
        step, seconds = env.step, 0.0
        for seed, turns in list(enumerate(answers)) * PASSES:
            env.reset(seed=seed)
            begin = perf_counter()
            for answer in turns:
                step(answer)
            seconds += perf_counter() - begin
        return PASSES * sum(map(len, answers)), seconds

    return best_rate(measure)


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


def peers() -> dict[str, Peer]:
    """Return the games to compare with."""
    return {
        "Gymnasium FrozenLake-v1": GymnasiumFrozenLake(),
        "Gymnasium FrozenLake-v1, bare": GymnasiumFrozenLake(wrapped=False),
        "TextArena FrozenLake": TextArenaFrozenLake(),
        "TextArena FrozenLake, bare": TextArenaFrozenLake("-raw"),
        "TextArena Sokoban 6x6/1": TextArenaSokoban(6, 1),
        "TextArena Sokoban 6x6/1, bare": TextArenaSokoban(6, 1, "-raw"),
        "TextArena Sokoban 8x8/2": TextArenaSokoban(8, 2),
        "TextArena Sokoban 6x6/3, its own": TextArenaSokoban(6, 3),
        "GEM Sokoban 6x6/1": GemSokoban(6, 1),
        "GEM Sokoban 8x8/2": GemSokoban(8, 2),
        "GEM Sokoban 6x6/2, its own": GemSokoban(6, 2),
    }


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
                action = chance.choice(peer.valid_actions())
                begin = perf_counter()
                text, over = peer.step(action)
                seconds += perf_counter() - begin
                steps += 1
                if over:
                    break
                assert "\n" in text, f"no board in {text!r}"
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


def verdict(what: str, measured: float, target: float, unit: str) -> str:
    """Return a line that sets a figure beside its least target."""
    mark = "reached" if measured >= target else "MISSED"
    return f"- {what}: {measured:,.0f}{unit}, target {target:,.0f}{unit}: {mark}"


def against_targets(rates: dict[str, Rates]) -> list[str]:
    """Return the lines that set the figures beside the targets."""
    lines = []
    for name, peers, ratio in (
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
        for peer in peers:
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


def check_peers() -> None:
    """Leave with one line if a peer is missing."""
    for module in ("textarena", "gem"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            sys.exit(
                f"{module} cannot be imported ({error}); "
                "install the peers with: pip install -r benchmarks/requirements.txt"
            )


def main() -> None:
    """Measure everything and print it."""
    check_peers()
    rates = {env_id: own_rates(env_id) for env_id in ragen_envs.IDS}
    for name, peer in peers().items():
        rates[name] = peer_rates(peer)
    versions = ", ".join(f"{p} {version(p)}" for p in ("gymnasium", "textarena", "gem-llm"))
    print(f"Python {platform.python_version()}, {versions}; a second:\n")
    print(table(rates), *against_targets(rates), *import_lines(), sep="\n")
    print(f"\nWhat was counted:\n\n{NOTES}")


if __name__ == "__main__":
    main()
