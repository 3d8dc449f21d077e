"""Interactive play of an episode, in the terminal or on a page."""
