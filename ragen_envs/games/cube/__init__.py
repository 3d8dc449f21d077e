"""The 2x2x2 cube: turn its faces until each has a single colour."""
