"""Lamps: switch off a row of lamps."""
