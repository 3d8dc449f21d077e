"""Interactive play of an episode, in the terminal or on a page."""

from ragen_bench.pages.play.episode import (
    Ending,
    EpisodeChoice,
    HumanEpisode,
    Turn,
    choose_episode,
    describe_ending,
)

__all__ = ["Ending", "EpisodeChoice", "HumanEpisode", "Turn", "choose_episode", "describe_ending"]
