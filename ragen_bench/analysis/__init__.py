"""Analysis of replayed episodes by rule: why they failed, and how the model reasoned."""

from ragen_bench.analysis.label import label
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, replay_episode
from ragen_bench.analysis.run import analyse
from ragen_envs.core.failures import Failure

__all__ = ["Failure", "ReplayedEpisode", "analyse", "label", "replay_episode"]
