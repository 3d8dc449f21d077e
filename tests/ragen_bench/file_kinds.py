"""Files as a stranger may leave them in a folder: seeded changes of real ones."""

import json
import os
import random

DEEP = 30_000
HUGE = ("9" * 400, "9" * 5000, "-1", "1e400", "NaN", "-Infinity", "0.1", "true", "null", '""')
TEXTS = ('"\\ud800"', '"\\u0000"', '"<b>\\u001b[2J"', "[]", "{}", "[[]]", '{"a":{"b":[]}}')


def _pipe(file, _):
    file.unlink()
    os.mkfifo(file)


def _folder(file, _):
    file.unlink()
    file.mkdir()


def _device(file, _):
    file.unlink()
    file.symlink_to("/dev/zero")


def _blocking(file, _):
    file.unlink()
    file.symlink_to("/proc/self/mem" if os.geteuid() else "/proc/kmsg")


def _deep(file, rng):
    opening, closing = rng.choice([("[", "]"), ('{"a":', "}")])
    depth = rng.choice([70, 500, 900, 995, DEEP])
    file.write_text(opening * depth + "1" + closing * depth + "\n")


def _deep_field(file, rng):
    depth = rng.choice([70, 500, 900])
    _change_value(file, rng, "[" * depth + "]" * depth)


def _change_value(file, rng, value=None):
    """Replace one value of a JSON file, at any depth, by a text of JSON."""
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    number = rng.randrange(len(lines))
    content = json.loads(lines[number])
    places = []

    def walk(node):
        for key in list(node if isinstance(node, dict) else range(len(node))):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(content)
    mark = "\0mark\0"
    node, key = rng.choice(places)
    if rng.random() < 0.15:
        del node[key]
        lines[number] = json.dumps(content)
    else:
        node[key] = mark
        value = value or rng.choice([*HUGE, *TEXTS])
        lines[number] = json.dumps(content).replace(json.dumps(mark), value)
    file.write_text("\n".join(lines) + "\n")


def _cut(file, rng):
    content = file.read_bytes()
    file.write_bytes(content[: rng.randrange(len(content) + 1)])


def _bytes(file, rng):
    content = bytearray(file.read_bytes())
    for _ in range(rng.randrange(1, 6)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    file.write_bytes(content)


def _gone(file, _):
    file.unlink()


KINDS = (_pipe, _folder, _device, _blocking, _deep, _deep_field, _cut, _bytes, _gone)


def spoil(file, seed):
    """Change a file as one of many strangers would; return the name of the change."""
    rng = random.Random(seed)
    kind = rng.choice([*KINDS, *[_change_value] * len(KINDS)])
    kind(file, rng)
    return kind.__name__
