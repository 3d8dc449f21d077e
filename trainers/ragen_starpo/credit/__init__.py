"""Advantage estimators against the true advantages of turns."""
