"""Annotation: blind human ratings of trajectories, and the agreement of raters."""
