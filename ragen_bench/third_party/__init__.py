"""Third-party text environments, by their ids in Gymnasium's registry."""

from ragen_bench.third_party.env import ThirdPartyEnv
from ragen_bench.third_party.game import ThirdPartyGame, game_of, name_environment, named_ids

__all__ = ["ThirdPartyEnv", "ThirdPartyGame", "game_of", "name_environment", "named_ids"]
