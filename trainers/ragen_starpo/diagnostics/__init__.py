"""Diagnostics of training: figures, their cost, and the echo trap's monitor."""
