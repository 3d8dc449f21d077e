"""A player of the game: guesses a code that all hints so far allow."""

import re

from code_game import CODES, hint


def answer(messages: list[dict[str, str]]) -> str:
    """Return the next guess, from the whole conversation."""
    text = "\n".join(message["content"] for message in messages if message["role"] == "user")
    hints = re.findall(r"^[A-F]{4}: \d in place, \d elsewhere\.", text, re.MULTILINE)
    return next(code for code in CODES if all(hint(code, each[:4]) == each for each in hints))
