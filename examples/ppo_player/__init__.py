"""A classical agent in the harness: a policy of Stable-Baselines3's PPO, which reads no text.

`reading` makes arrays of a game's text, `network` a turn of the arrays, and `player` answers with
it. `trained` names the weights, and says how they are made. With the weights in place:

ragen-bench evaluate python:ppo_player:Player --suite quick
"""

from ppo_player.player import Player

__all__ = ["Player"]
