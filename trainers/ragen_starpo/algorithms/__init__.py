"""Advantages, filters and losses, in PyTorch alone."""
