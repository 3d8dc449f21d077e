"""A difference that seeds and instances have a part in: its mean, its error, its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class StudyEstimate:
    """A mean with its standard error.

    Attributes:
        mean: over seeds and instances.
        error: of the mean, above 0 unless all seeds have the same value.
        freedom: degrees of freedom of Student's t.
        seeds: how many.
    """

    mean: float
    error: float
    freedom: float
    seeds: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided interval of a level in (0, 1)."""
        half = float(stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half

    def p_value(self, margin: float) -> float:
        """Return the two-sided p-value of the mean being the margin.

        Seeds that all have the same value tell nothing of their spread, so the sign test has to do:
        of five of them it says 0.0625.
        """
        if self.error == 0:
            return 1.0 if self.mean == margin else 0.5 ** (self.seeds - 1)
        return 2 * float(stdtr(self.freedom, -abs(self.mean - margin) / self.error))

    def detectable(self, level: float, power: float = 0.8) -> float | None:
        """Return how far from the margin a mean must be to be told from it.

        Args:
            level: of the interval.
            power: with which it is told; the error is taken as known, so few seeds need more yet.

        Returns:
            The distance; None where equal seeds tell nothing of their spread.
        """
        if self.error == 0:
            return None
        both = float(stdtrit(self.freedom, (1 + level) / 2) + stdtrit(self.freedom, power))
        return both * self.error


def over_seeds(values: Values) -> StudyEstimate:
    """Return the mean of one value a seed.

    Args:
        values: (seeds,), two or more.
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return StudyEstimate(float(values.mean()), error, len(values) - 1, len(values))


def over_seeds_and_instances(values: Values) -> StudyEstimate:
    """Return the mean of a value for each seed on each instance, both being drawn at random.

    Every seed has met every instance, so the mean varies by both. Its variance is that of the
    two-way random-effects layout without replication (Cornfield and Tukey 1956, Annals of
    Mathematical Statistics 27), at least that over seeds alone; its degrees of freedom are
    Satterthwaite's (1946, Biometrics 2).

    Args:
        values: (seeds, instances), two or more of each.
    """
    seeds, instances = values.shape
    mean = values.mean()
    of_seeds, of_instances = values.mean(axis=1), values.mean(axis=0)
    rest = values - of_seeds[:, None] - of_instances[None, :] + mean
    squares = {
        "seeds": instances * float(of_seeds.var(ddof=1)),
        "instances": seeds * float(of_instances.var(ddof=1)),
        "rest": float((rest**2).sum()) / ((seeds - 1) * (instances - 1)),
    }
    counted = {"seeds": squares["seeds"]}
    if squares["instances"] > squares["rest"]:
        counted |= {"instances": squares["instances"], "rest": -squares["rest"]}
    total = sum(counted.values())
    freedom = {
        "seeds": seeds - 1,
        "instances": instances - 1,
        "rest": (seeds - 1) * (instances - 1),
    }
    spread = sum(square**2 / freedom[name] for name, square in counted.items())
    return StudyEstimate(
        float(mean),
        math.sqrt(total / values.size),
        total**2 / spread if spread else seeds - 1,
        seeds,
    )
