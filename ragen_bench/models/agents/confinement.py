"""Where an agent of the user's own runs, and how much it may use there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MEMORY = 4
"""GiB that an isolated agent may use, if nothing else is said."""
SECONDS = 600.0
"""How long an isolated agent may take for an answer, if nothing else is said."""


@dataclass(frozen=True)
class Confinement:
    """Where an agent runs.

    Attributes:
        kind: "here" in this process, as a function that a caller in Python hands over; "apart" in
            a process of its own; "isolated" in one under bubblewrap, which has no network and no
            files but the agent's own and Python's.
        memory: GiB of address space, if it is isolated.
        seconds: for an answer, and for loading it; None for as long as it takes.
        reason: why it is isolated, in a few words.
    """

    kind: Literal["here", "apart", "isolated"] = "apart"
    memory: int = MEMORY
    seconds: float | None = None
    reason: str = ""


APART = Confinement()
"""Where agents run if nothing else is said."""
