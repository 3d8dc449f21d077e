"""Text environments for language-model agents, in Gymnasium's registry.

Importing the package registers its ids:

    import gymnasium, ragen_envs
    env = gymnasium.make("ragen/Sokoban-v0", split="test")
"""

from ragen_envs.registration import IDS, OPPONENT_IDS, register_all

__all__ = ["IDS", "OPPONENT_IDS"]

register_all()
