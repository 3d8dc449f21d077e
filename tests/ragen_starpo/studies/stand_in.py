"""A stand-in of the laboratory: runs whose effects are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ragen_starpo.studies.definition import Arm, Claim, Study, Task
from ragen_starpo.studies.metrics import Runs

EFFECTS = {"up": 12.0, "down": -12.0, "alike": 0.0, "base": 0.0}
"""Points of success that an arm's estimator stands for."""


def make_study(*claims: Claim, effects: dict[str, float] | None = None, **fields) -> Study:
    """Return a study whose arms have the effect of their name, in points."""
    arms = {name: Arm((f"loss.clip_high={n}",)) for n, name in enumerate(effects or EFFECTS)}
    looks = {"warm_starts": 8, "looks": (4, 8), "collapse_look": 16}
    facts = {"iterations": 60, "reference": "base", "name": "mine", **looks, **fields}
    return Study(question="Which?", task=Task("lake", 3), arms=arms, claims=claims, **facts)


def claim(plus: str = "up", minus: str = "base", **fields) -> Claim:
    """Return a claim on the mean."""
    sides = {"plus": (plus,), "minus": (minus,) if minus else ()}
    return Claim(
        **{"text": f"{plus} is better", "paper": "A, 1", "metric": "mean", **sides, **fields}
    )


class StandIn:
    """Plays arms: success rises by `gain` points, differs by run, and falls in some of the runs."""

    def __init__(self, effects=None, *, noise=4.0, gain=30.0, collapse=(), curves=None, salt=0):
        self.effects = list((effects or EFFECTS).values())
        self.noise, self.gain, self.collapse = noise, gain, dict(collapse)
        self.curves, self.salt, self.calls = curves or {}, salt, []

    def __call__(
        self,
        task: Task,
        settings: Sequence[str],
        *,
        iterations: int,
        warm_starts: Sequence[int],
        seeds: Sequence[int],
        device: str,
        on_runs: Callable[[int], None] = lambda iterations: None,
    ) -> Runs:
        arm = int(settings[-1].partition("=")[2])
        self.calls.append((arm, len(warm_starts) * len(seeds)))
        pairs = [(start, seed) for start in warm_starts for seed in seeds]
        on_runs(len(pairs) * iterations)
        levels = [self._level(arm, *pair) for pair in pairs]
        rise = np.minimum(np.arange(iterations) / (iterations / 2), 1)
        success = 30 + np.array(levels)[:, None] + self.gain * rise[None]
        fallen = [n for n in range(len(pairs)) if n % 4 < self.collapse.get(arm, 0)]
        success[fallen, iterations * 3 // 4 :] -= 40
        shape = success.shape
        curves = {"success": success / 100, "reward_deviation": np.full(shape, 0.4)}
        curves |= {name: np.full(shape, value) for name, value in self.curves.items()}
        curves = {name: values.astype(np.float32) for name, values in curves.items()}
        test, start = curves["success"][:, -1], np.full(len(pairs), 0.3, np.float32)
        return Runs(curves, test, start, 2.0, 3.0)

    def _level(self, arm: int, start: int, seed: int) -> float:
        common = np.random.default_rng((self.salt, arm, start)).normal()
        own = np.random.default_rng((self.salt, arm, start, seed)).normal()
        return self.effects[arm] + self.noise * (0.3 * common + own)
