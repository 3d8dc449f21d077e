"""Recipes: the settings of a training run, their bounds and checks, and the papers' rows."""
