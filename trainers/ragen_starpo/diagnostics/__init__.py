"""Diagnostics of training: metrics, cost, and the monitor of the echo trap."""
