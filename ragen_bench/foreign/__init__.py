"""Text environments of other packages, by their ids in Gymnasium's registry."""

from ragen_bench.foreign.env import ForeignEnv
from ragen_bench.foreign.game import ForeignGame, game_of, name_environment, named_ids

__all__ = ["ForeignEnv", "ForeignGame", "game_of", "name_environment", "named_ids"]
