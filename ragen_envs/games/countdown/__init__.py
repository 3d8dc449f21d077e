"""Countdown: combine numbers by arithmetic to reach a target."""
