"""Rule-based analysis of replayed episodes: causes of failure and measures of reasoning."""

from ragen_bench.analysis.failures import find_failure
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, replay_episode
from ragen_bench.analysis.run import analyse, fetch_analysis
from ragen_envs.core.failures import Failure

__all__ = [
    "Failure",
    "ReplayedEpisode",
    "analyse",
    "fetch_analysis",
    "find_failure",
    "replay_episode",
]
