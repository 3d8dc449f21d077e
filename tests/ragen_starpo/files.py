"""Files of strangers: pickles that run code, and files that are spoiled at random."""

import json
import os

from ragen_bench.errors import UserError

VALUES = (
    *(None, True, -1, 0, 10**400, 1e308, float("nan"), float("inf"), "", "x", "../..", "\ud800"),
    *([], [[]], {}, {"a": 1}, [None] * 700, "9" * 5000),
)


class Planted:
    """An object whose pickle makes a file."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


def spoil_json(text, random):
    """Return a JSON text with a value replaced, removed or moved, or with spoiled bytes."""
    content = json.loads(text)
    places = []

    def visit(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], (dict, list)):
                visit(value[key])

    visit(content)
    value, key = random.choice(places)
    kind = random.randrange(3)
    if kind == 0:
        del value[key]
    else:
        value[key] = random.choice(VALUES)
    spoiled = json.dumps(content)
    return spoil(spoiled.encode(), random) if kind == 2 else spoiled.encode()


def spoil(content, random):
    """Return bytes with a piece cut out, overwritten or inserted, or nested brackets."""
    place = random.randrange(len(content) + 1)
    size = random.choice((1, 8, 200))
    piece = random.choice((b"", random.randbytes(size), b"[" * 100_000, b"\xff\xfe", b"\0" * size))
    return content[:place] + piece + content[place + random.choice((0, size)) :]


def assert_one_line(act, seed):
    """Run a function that may refuse a file in one line; any other error is a failure."""
    try:
        act()
    except UserError as error:
        line = str(error)
        assert 0 < len(line) < 1500, f"seed {seed}: {len(line)} characters"
        assert line.isprintable(), f"seed {seed}: {line!r}"
