"""Third-party text environments, by their ids in Gymnasium's registry."""

from ragen_bench.third_party.env import ThirdPartyEnv
from ragen_bench.third_party.game import (
    ThirdPartyGame,
    get_game,
    register_environment,
    registered_ids,
)

__all__ = ["ThirdPartyEnv", "ThirdPartyGame", "get_game", "register_environment", "registered_ids"]
