"""Third-party Gymnasium text environments, by their ids, with the interface of the harness."""

from ragen_bench.third_party.env import ThirdPartyEnv
from ragen_bench.third_party.game import (
    ThirdPartyGame,
    get_game,
    register_environment,
    registered_ids,
)

__all__ = ["ThirdPartyEnv", "ThirdPartyGame", "get_game", "register_environment", "registered_ids"]
