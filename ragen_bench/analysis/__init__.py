"""Analysis of replayed episodes by rule: why they failed, and how the model reasoned."""

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.label import label
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, replay_episode
from ragen_bench.analysis.run import analyse

__all__ = ["Failure", "ReplayedEpisode", "analyse", "label", "replay_episode"]
