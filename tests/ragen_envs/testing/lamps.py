"""A small correct text environment with noise, splits and an oracle, which knows no `ragen_envs`.

A corridor of doors, each with a lamp on the left or on the right. The answer that names the side
of the lamp opens the door four times in five. Who opens all doors in time has won.
"""

import hashlib
import itertools
from functools import lru_cache, partial
from math import comb
from random import Random

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

from ragen_envs.testing import Subject

SIDES = ("left", "right")
DOORS, TURNS, CHANCE = 5, 7, 0.8
SPLITS = ("train", "val", "test")
HELD_OUT = 4
CEILING = sum(comb(TURNS, k) * CHANCE**k * (1 - CHANCE) ** (TURNS - k) for k in range(DOORS, 8))


def mirrored(path):
    return tuple(SIDES[1 - SIDES.index(side)] for side in path)


def canonical_form(path):
    """Paths that are mirror images of each other are the same instance."""
    return min(path, mirrored(path))


@lru_cache
def paths_of(split):
    """Half of the instances for train, a quarter for val and a quarter for test."""
    different = sorted({canonical_form(path) for path in itertools.product(SIDES, repeat=DOORS)})
    different.sort(key=lambda path: hashlib.sha256(repr(path).encode()).digest())
    parts = {"val": different[:4], "test": different[4:8], "train": different[8:]}
    return parts[split]


class LampEnv(gymnasium.Env):
    metadata = {"render_modes": []}

    def __init__(self, split="train"):
        self.split = split
        self.observation_space = Text(200, charset="abcdefghijklmnopqrstuvwxyz.: 0123456789")
        self.action_space = Text(100, min_length=0)
        self.running = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.path = self.draw(seed)
        self.noise = self.noise_of(seed, (options or {}).get("noise_seed", 0))
        self.door = self.turn = 0
        self.running = True
        return self.text("lamps."), self.info()

    def draw(self, seed):
        if seed is None:
            seed = int(self.np_random.integers(1 << 32))
        paths, rng = paths_of(self.split), Random(seed)
        path = paths[rng.randrange(8) if self.split == "train" else seed % HELD_OUT]
        return mirrored(path) if rng.random() < 0.5 else path

    def noise_of(self, seed, rollout):
        label = f"noise {seed} {rollout}" if seed is not None else self.np_random.bytes(8)
        return Random(label)

    def step(self, answer):
        self.demand_running()
        self.turn += 1
        told = self.play(answer)
        won = self.door == DOORS
        lost = not won and self.turn == TURNS
        self.running = not (won or lost)
        return self.text(told), float(won), won, lost, self.info()

    def play(self, answer):
        side = answer.strip().lower()
        if side not in SIDES:
            return "that is no side."
        opened = side == self.path[self.door] and self.noise.random() < CHANCE
        self.door += opened
        return "it opens." if opened else "it stays shut."

    def demand_running(self):
        if not self.running:
            raise ResetNeeded("call reset() first")

    def text(self, told):
        lamp = self.path[self.door] if self.door < DOORS else "none"
        return f"{told} door {self.door} of {DOORS}, lamp: {lamp}".replace(",", ".")

    def info(self):
        won = self.door == DOORS
        return {
            "success": won,
            "score": float(won),
            "legal_actions": SIDES,
            "ceiling": CEILING,
            "best": self.path[self.door] if self.door < DOORS else None,
        }


def subject_of(cls=LampEnv, **options):
    """Everything that the kit can be told about the game, or about a broken one."""
    known = {
        "make_env": cls,
        "splits": {split: partial(cls, split) for split in SPLITS},
        "canonical": lambda env: canonical_form(env.path),
        "held_out": {"val": HELD_OUT, "test": HELD_OUT},
        "noise_options": lambda j: {"noise_seed": j},
        "stochastic": True,
        "oracle": lambda env: env.path[env.door],
        "max_turns": TURNS,
        "seeds": range(5),
        "oracle_episodes": 60,
    }
    return Subject(**{**known, **options})
