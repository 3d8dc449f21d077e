"""Knowledge about the words: the data files, their schema, loader and validator."""
