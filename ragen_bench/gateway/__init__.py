"""The gateway: a server that plays instances for trainers and agents that speak OpenAI's protocol.

It plays an episode through a base URL that a request gives, or is the game's side of a
conversation. At the end of an episode it posts the reward.
"""
