"""Why episodes failed and how the model reasoned, read from replayed episodes by rule."""

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.label import label
from ragen_bench.analysis.run import analyse
from ragen_bench.analysis.trajectory import Trajectory, trajectory

__all__ = ["Failure", "Trajectory", "analyse", "label", "trajectory"]
