"""What the game knows of its words: the data files, their schema, loader and validator."""
