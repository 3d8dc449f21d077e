"""Interactive play of an episode, in the terminal or on a page."""

from ragen_bench.pages.play.ending import Ending, describe_ending
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, Turn, choose_episode

__all__ = ["Ending", "EpisodeChoice", "HumanEpisode", "Turn", "choose_episode", "describe_ending"]
