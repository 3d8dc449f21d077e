"""Files of shipped instances: blocks of plain text, each under a comment line with named fields.

    ; 0 optimal_length=4
    ######
    #@$ .#
    ...

Blocks are separated by an empty line and numbered by seed. The comment sign is XSB's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar

T = TypeVar("T")


def write(blocks: Iterable[tuple[str, Mapping[str, object]]]) -> str:
    """Return the text of a file: each instance's body under a line with its number and fields."""
    texts = []
    for number, (body, fields) in enumerate(blocks):
        named = "".join(f" {name}={value}" for name, value in fields.items())
        texts.append(f"; {number}{named}\n{body}\n")
    return "\n".join(texts)


def read(text: str, make: Callable[[str, dict[str, str]], T]) -> tuple[T, ...]:
    """Return a file's instances; ValueError if its blocks are not numbered 0, 1, 2, ..."""
    instances = []
    for number, block in enumerate(text.rstrip("\n").split("\n\n")):
        comment, _, body = block.partition("\n")
        mark, label, *fields = comment.split()
        if mark != ";" or label != str(number):
            raise ValueError(f"instance {number} of a held-out file begins with {comment!r}")
        instances.append(make(body, dict(field.split("=", 1) for field in fields)))
    return tuple(instances)


class MissingInstancesError(ValueError):
    """A game ships no file with the instances of a held-out split."""


@cache
def load(package: str, path: str, make: Callable[[str, dict[str, str]], T]) -> tuple[T, ...]:
    """Return a package's instances, read once; MissingInstancesError if it has no such file."""
    try:
        text = files(package).joinpath(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingInstancesError(
            f"{package} ships no held-out instances in {path!r}; generate them, in this suite with "
            "`python -m ragen_envs.cli.build_held_out`"
        ) from None
    return read(text, make)
