"""A person plays an episode, in the terminal or on a page."""

from ragen_bench.pages.play.ending import Ending, ending_of
from ragen_bench.pages.play.game import Chosen, Game, Turn, chosen

__all__ = ["Chosen", "Ending", "Game", "Turn", "chosen", "ending_of"]
