"""Mastermind: find a secret code by guesses and their answers."""
