"""How an option or an argument looks on a command line; it annotates the field that holds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """How an option looks: `--the-field METAVAR`.

    Attributes:
        metavar: what stands for its value in the help; None for a switch, in brackets if the value
            may be left out, which then is a dash.
        about: the help, to which the default is added.
    """

    metavar: str | None
    about: str


@dataclass(frozen=True)
class Argument:
    """How an argument looks that is known by its place.

    Attributes:
        metavar: its name in the help and in messages.
        about: the help.
    """

    metavar: str
    about: str = ""
