"""The settings of an evaluation, as a command line or a call in Python gives them."""
