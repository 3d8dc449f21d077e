"""The indefinite article of a noun."""

from __future__ import annotations

# Spelled with a vowel but said with "y", or the other way round.
_SAID_OTHERWISE = {
    "uniform": "a",
    "unicorn": "a",
    "unicycle": "a",
    "ukulele": "a",
    "university": "a",
    "hour": "an",
    "hourglass": "an",
    "x-ray": "an",
}


def indefinite_article(noun: str) -> str:
    """Return "a" or "an", by how the noun's first word is said."""
    first = noun.split()[0].lower()
    return _SAID_OTHERWISE.get(first, "an" if first[0] in "aeiou" else "a")
