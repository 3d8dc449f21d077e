"""Bandit: pull one of two named arms."""
