"""Two-player environments: the opponent model, its pairing with the player, and its prompts."""
