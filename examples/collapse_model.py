"""A model of collapse: softmax policy gradient with group advantages on a task of two steps.

An episode is solved if both steps are right; a wrong first step ends it. `theta` holds the log-odds
of the two right steps. The page `docs/results/model-of-collapse.md` derives the formulas, and
`collapse_figure.py` draws its figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIGHT = np.array([[0, 0], [1, 0], [1, 1]])  # episodes: wrong at once, wrong later, solved
TAKEN = np.array([[1, 0], [1, 1], [1, 1]])  # steps of each episode
METRICS = ("rollout/success", "rollout/reward_deviation", "policy/entropy", "policy/grad_norm")


@dataclass(frozen=True)
class Setting:
    """A training setting.

    Args:
        rollouts: Rollouts per group.
        groups: Groups per iteration, all of one prompt.
        learning_rate: Step size of plain gradient ascent on the log-odds.
        normalize_std: GRPO; False for Dr.GRPO.
        noise: Probability that the reward of an episode is flipped.
        keep: Fraction of the groups that the filter keeps, the largest deviations first.
        kl: Weight of the KL divergence from the policy at the start.
        passes: Updates on the same rollouts.
        clip: Lower and upper clip range; None for no clip.
    """

    rollouts: int = 8
    groups: int = 16
    learning_rate: float = 0.5
    normalize_std: bool = True
    noise: float = 0.0
    keep: float = 1.0
    kl: float = 0.0
    passes: int = 1
    clip: tuple[float, float] | None = None


def sigmoid(x: Array) -> Array:
    """Return the probability with log-odds `x`."""
    return np.asarray(1 / (1 + np.exp(-x)))


def start(success: float) -> Array:
    """Return log-odds that are equal at both steps, for a rate of success."""
    root = math.sqrt(success)
    return np.full(2, math.log(root / (1 - root)))


def success(theta: Array) -> Array:
    """Return the probability that both steps are right."""
    return np.asarray(sigmoid(theta).prod(-1))


def success_gradient(theta: Array) -> Array:
    """Return the gradient of `success`."""
    return np.asarray(success(theta)[..., None] * (1 - sigmoid(theta)))


def entropy(theta: Array) -> Array:
    """Return the mean entropy in nats per step that is taken."""
    p = np.clip(sigmoid(theta), 1e-12, 1 - 1e-12)
    steps = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    return np.asarray((steps[..., 0] + p[..., 0] * steps[..., 1]) / (1 + p[..., 0]))


def kl_gradient(theta: Array, reference: Array) -> Array:
    """Return the gradient of the KL divergence of whole episodes from a reference policy."""
    p, q = sigmoid(theta), sigmoid(reference)
    later = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))[..., 1]
    pull = p * (1 - p) * (theta - reference)
    first = pull[..., 0] + p[..., 0] * (1 - p[..., 0]) * later
    return np.stack([first, p[..., 0] * pull[..., 1]], -1)


def group_deviation(rate: float, setting: Setting) -> tuple[float, float]:
    """Return the mean deviation of a group's rewards, and the update's factor on their gradient."""
    n = setting.rollouts
    solved = np.arange(n + 1)
    chance = np.array([math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in solved])
    stds = np.sqrt(solved * (n - solved) / (n * (n - 1)))
    kept, left = np.ones(n + 1), setting.keep
    if setting.keep < 1:
        kept[:] = 0
        for minority in range(n // 2, 0, -1):
            level = np.minimum(solved, n - solved) == minority
            kept[level] = min(1.0, left / chance[level].sum())
            left = max(0.0, left - float(chance[level].sum()))
    sizes = stds if setting.normalize_std else stds**2
    mean = float(chance @ (kept * sizes) / (chance @ kept))
    return float(chance @ stds), (1 - 1 / n) * mean / (rate * (1 - rate))


def expected_update(theta: Array, setting: Setting, reference: Array) -> Array:
    """Return the expected gradient of an iteration of one pass, for many groups."""
    rate = setting.noise + (1 - 2 * setting.noise) * float(success(theta))
    factor = group_deviation(rate, setting)[1] * (1 - 2 * setting.noise)
    return factor * success_gradient(theta) - setting.kl * kl_gradient(theta, reference)


def solve(theta: Array, setting: Setting, iterations: int) -> dict[str, Array]:
    """Return the curves of the ODE by metric, by Runge-Kutta with a step of one iteration."""
    path, rate = [theta], setting.learning_rate
    for _ in range(iterations):
        k1 = rate * expected_update(path[-1], setting, theta)
        k2 = rate * expected_update(path[-1] + k1 / 2, setting, theta)
        k3 = rate * expected_update(path[-1] + k2 / 2, setting, theta)
        k4 = rate * expected_update(path[-1] + k3, setting, theta)
        path.append(path[-1] + (k1 + 2 * k2 + 2 * k3 + k4) / 6)
    points = np.array(path)
    rates = setting.noise + (1 - 2 * setting.noise) * success(points)
    deviations = np.array([group_deviation(float(rate), setting)[0] for rate in rates])
    norms = [float(np.linalg.norm(expected_update(point, setting, theta))) for point in points]
    curves = (success(points), deviations, entropy(points), np.array(norms))
    return dict(zip(METRICS, curves, strict=True))


def episode_chances(theta: Array, noise: float) -> Array:
    """Return (..., 6) chances of an episode with a reward: reward 0 and 1 of each kind."""
    p = sigmoid(theta)
    first, second = p[..., 0], p[..., 1]
    kinds = np.stack([1 - first, first * (1 - second), first * second], -1)
    rewards = np.array([[1 - noise, noise], [1 - noise, noise], [noise, 1 - noise]])
    return np.asarray((kinds[..., None] * rewards).reshape(*kinds.shape[:-1], 6))


def update(theta: Array, counts: Array, setting: Setting, reference: Array) -> tuple[Array, Array]:
    """Return the next log-odds and the deviations of the groups, from (runs, groups, 6) counts."""
    n, counts = setting.rollouts, counts.reshape(*counts.shape[:-1], 3, 2)
    solved = counts[..., 1].sum(-1)
    stds = np.sqrt(solved * (n - solved) / (n * (n - 1)))
    mixed = stds > 0
    if setting.keep < 1:
        ranks = np.argsort(np.argsort(-stds, axis=1, kind="stable"), axis=1)
        mixed &= ranks < math.ceil(setting.keep * stds.shape[1] - 1e-9)
    divisor = np.where(stds > 0, stds, 1.0) if setting.normalize_std else np.ones_like(stds)
    advantages = (np.arange(2) - (solved / n)[..., None]) * (mixed / divisor)[..., None]
    kept = np.maximum(mixed.sum(1), 1) if setting.keep < 1 else mixed.shape[1]
    weights = (counts * advantages[..., None, :]).sum(1) / n / np.reshape(kept, (-1, 1, 1))
    old = np.where(RIGHT, sigmoid(theta)[:, None], 1 - sigmoid(theta)[:, None])
    for _ in range(setting.passes):
        p = sigmoid(theta)[:, None]
        ratio = np.where(RIGHT, p, 1 - p) / old
        terms = weights[..., None] * ratio[:, :, None]
        if setting.clip is not None:
            low, high = setting.clip
            terms[:, :, 0] *= ratio >= 1 - low  # the batch's advantages of reward 0 are negative
            terms[:, :, 1] *= ratio <= 1 + high
        gradient = (terms.sum(2) * TAKEN * (RIGHT - p)).sum(1)
        if setting.kl:
            gradient -= setting.kl * kl_gradient(theta, reference)
        # Beyond 30, a probability of 1 - 1e-13, a ratio of probabilities would be 0 / 0.
        theta = np.clip(theta + setting.learning_rate * gradient, -30, 30)
    return theta, stds


def simulate(
    theta: Array, setting: Setting, iterations: int, runs: int = 64, seed: int = 0
) -> dict[str, Array]:
    """Return (iterations + 1, runs) samples of each metric; one pass for the gradient norm."""
    rng, reference = np.random.default_rng(seed), np.tile(theta, (runs, 1))
    theta, rows = reference, []
    size = (runs, setting.groups)
    for _ in range(iterations + 1):
        chances = np.broadcast_to(episode_chances(theta, setting.noise)[:, None], (*size, 6))
        counts = rng.multinomial(setting.rollouts, chances).astype(float)
        moved, stds = update(theta, counts, setting, reference)
        norms = np.linalg.norm(moved - theta, axis=1) / setting.learning_rate
        rows.append((success(theta), stds.mean(1), entropy(theta), norms))
        theta = moved
    return dict(zip(METRICS, np.moveaxis(np.array(rows), 1, 0), strict=True))


@lru_cache
def list_groups(rollouts: int) -> tuple[Array, Array]:
    """Return every possible group as (groups, 6) counts, and its number of orders."""
    bars = np.array([(-1, *bars, rollouts + 5) for bars in combinations(range(rollouts + 5), 5)])
    counts = (np.diff(bars, axis=1) - 1).astype(float)
    ways = [math.prod(math.factorial(int(count)) for count in row) for row in counts]
    return counts, math.factorial(rollouts) / np.array(ways, dtype=float)


def expected_change(theta: Array, setting: Setting) -> float:
    """Return the exact expected change of success in one iteration with one group: a finite sum."""
    counts, ways = list_groups(setting.rollouts)
    points = np.tile(theta, (len(counts), 1))
    chances = ways * (episode_chances(theta, setting.noise) ** counts).prod(1)
    moved = update(points, counts[:, None], setting, points)[0]
    return float(chances @ (success(moved) - success(points)))


def critical_rate(theta: Array, setting: Setting) -> float:
    """Return the smallest learning rate at which an iteration with one group lowers success.

    Infinite if no rate up to 300 does.
    """
    rates = [float(rate) for rate in np.geomspace(0.03, 300, 81)]
    for low, high in pairwise(rates):
        if expected_change(theta, replace(setting, learning_rate=high)) < -1e-9:
            for _ in range(10):
                middle = math.sqrt(low * high)
                change = expected_change(theta, replace(setting, learning_rate=middle))
                low, high = (low, middle) if change < 0 else (middle, high)
            return high
    return math.inf


def success_under_kl(begin: float, setting: Setting) -> float:
    """Return the success at which the KL term ends the rise, without noise."""
    grid = np.linspace(begin, 1 - 1e-6, 2001)[1:]
    factors = np.array([group_deviation(float(rate), setting)[1] for rate in grid])
    gain = np.log(grid / (1 - grid)) - math.log(begin / (1 - begin))
    return float(grid[np.argmax(gain >= factors / setting.kl)])
