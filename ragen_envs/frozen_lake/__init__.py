"""FrozenLake: cross slippery ice."""
