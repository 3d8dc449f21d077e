"""Agents of the user's own in a process of their own, on request under bubblewrap."""
