"""Bandits: two named arms and one pull, or many arms and many pulls."""
