"""Play: an episode that a person plays, in the terminal or on a page."""

from ragen_bench.pages.play.ending import Ending, ending_of
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, Turn, choose_episode

__all__ = ["Ending", "EpisodeChoice", "HumanEpisode", "Turn", "choose_episode", "ending_of"]
