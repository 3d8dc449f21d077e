"""The opponent of a two-player game: any model of the harness, and its pairing with the player."""
