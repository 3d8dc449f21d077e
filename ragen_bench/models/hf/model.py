"""`hf/NAME-OR-DIR`: a Hugging Face model in this process, many conversations at once."""

from __future__ import annotations

import os
from typing import Any

from ragen_bench.errors import missing_extra
from ragen_bench.models.base import Engine, Sampling, refuse_constraint, refuse_limit

# OpenMP reads it when torch is imported. Threads that spin while they wait slow everything down
# several times on a machine with other work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    from ragen_bench.models.hf.engine import SlotEngine
    from ragen_bench.models.hf.loading import describe_identity, load
except ImportError as missing:
    raise missing_extra(missing, "hf") from missing

SLOTS = 16
"""Default number of conversations at once."""
_GROUP = 4
"""Episodes of a group per slot: at the end of a group, slots run empty."""


class HFModel:
    """A model of transformers.

    Inverse transform sampling uses a number that depends on seed, request and token alone. So a
    completion does not depend on the other requests of its batch, except by the rounding of the
    logits, and no global generator is read.

    Args:
        name: A folder with config.json, tokenizer and weights, or a name on the hub.
        slots: Number of conversations at once.

    Raises:
        UserError: There is no model at that place.
    """

    def __init__(self, name: str, slots: int = SLOTS) -> None:
        self._loaded = load(name)
        self._name = name
        self.slots = slots
        self.group_size = slots if self._loaded.waves else slots * _GROUP

    def identity(self) -> dict[str, Any]:
        """Return the number format, the engine, and a folder's hash or the hub's revision."""
        engine = "waves" if self._loaded.waves else "continuous"
        return {**describe_identity(self._name, self._loaded), "engine": engine}

    def probe(self) -> str:
        """Return its device, and why it runs in waves if it does."""
        place = f"in this process, on {self._loaded.model.device}"
        if not self._loaded.waves:
            return place
        return f"{place}; in waves, where all wait for the longest answer: {self._loaded.waves}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that works on `slots` requests at once."""
        refuse_constraint(sampling, "hf/NAME")
        refuse_limit(sampling, self._name, self._loaded.context)
        return SlotEngine(self._loaded, sampling, self.slots)
