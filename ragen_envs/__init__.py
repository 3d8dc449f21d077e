"""Text environments for language-model agents, in Gymnasium's registry.

Importing the package registers its ids:

    import gymnasium, ragen_envs
    env = gymnasium.make("ragen/Sokoban-v0", split="test")

`register_third_party_games` registers those of other installed packages.
"""

from ragen_envs.registration import IDS, OPPONENT_IDS, register_third_party_games

__all__ = ["IDS", "OPPONENT_IDS", "register_third_party_games"]
