"""Made curves of a training: what is healthy, what is a trap, and what only looks like one."""

import math
import random
import statistics

ITERATIONS = 200
FIGURES = ("rollout/reward", "rollout/reward_deviation", "policy/entropy", "policy/grad_norm")


def line(number, success, deviation, entropy, gradient):
    figures = dict(zip(FIGURES, (success, deviation, entropy, gradient), strict=True))
    return {"iteration": number, "rollout/success": success, **figures}


def noisy(seed, share, curves):
    """Lines of curves, each figure times a noise of its own."""
    noise = random.Random(seed)
    return [
        line(number, *(value * max(0.0, noise.gauss(1, share)) for value in values))
        for number, values in enumerate(curves)
    ]


def rise(number):
    """Success from 0.1 to 0.85; the deviation of a share; an entropy that halves; even norms."""
    success = 0.1 + 0.75 / (1 + math.exp((80 - number) / 15))
    deviation = math.sqrt(success * (1 - success))
    return success, deviation, 0.6 + 0.6 * math.exp(-number / 60), 1.0


def collapse(start, lead=6, pace=4):
    """A rise until `start`, where returns grow alike; the success follows, and the norm grows."""
    for number in range(ITERATIONS):
        success, deviation, entropy, gradient = rise(min(number, start))
        gone = math.exp(-max(0, number - start) / pace)
        late = math.exp(-max(0, number - start - lead) / (2 * pace))
        grown = 1 + 9 * (1 - late)
        yield success * late, deviation * gone, entropy * gone, gradient * grown


def early_collapse(start, pace):
    """All three fall from an even level, in the first iterations of a run."""
    for number in range(60):
        left = math.exp(-max(0, number - start) / pace)
        yield 0.5 * left, 0.4 * left, 0.6 * left, 1.0


def form_learned(pace, gain):
    """The entropy falls to a quarter at first, and the reward rises by the gain."""
    for number in range(60):
        left = math.exp(-number / pace)
        yield 0.1 + gain * (1 - left), 0.3, 0.5 + 1.5 * left, 1.0


def by_chance(noise, success):
    """Lines of a success that stays as it is, of 8 groups of 4 rollouts."""
    for number in range(ITERATIONS):
        groups = [sum(noise.random() < success for _ in range(4)) / 4 for _ in range(8)]
        deviation = statistics.fmean(math.sqrt(share * (1 - share)) for share in groups)
        yield line(number, statistics.fmean(groups), deviation, 1.0, 1.0)
