"""`hf/NAME-OR-DIR`: a Hugging Face model in process, many conversations at once."""

from __future__ import annotations

import os
from typing import Any

from ragen_bench.errors import missing_extra
from ragen_bench.models.base import Engine, Sampling, refuse_constraint, refuse_limit

# OpenMP reads it when torch is imported. Threads that spin while they wait for each other make a
# machine on which anything else computes several times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    from ragen_bench.models.hf.engine import SlotEngine
    from ragen_bench.models.hf.loading import identity_of, load
except ImportError as missing:
    raise missing_extra(missing, "hf") from missing

SLOTS = 16
"""Conversations generated at once, if nothing else is asked for."""
_GROUP = 4
"""A group has so many episodes a slot: at its end, slots run empty."""


class HFModel:
    """A model of transformers.

    Sampling inverts the distribution at a uniform number that depends on seed, request and token
    alone, so that an answer does not depend on which other requests share its batch (up to the
    rounding of the logits), and no global generator is read.

    Args:
        name: a folder with config.json, tokenizer and weights, or a name that the hub knows.
        slots: conversations generated at once.

    Raises:
        UserError: if there is no model at that place.
    """

    def __init__(self, name: str, slots: int = SLOTS) -> None:
        self._loaded = load(name)
        self._name = name
        self.slots = slots
        self.group_size = slots if self._loaded.waves else slots * _GROUP

    def identity(self) -> dict[str, Any]:
        """Return the number format, the engine, and a folder's hash or the hub's revision."""
        engine = "waves" if self._loaded.waves else "continuous"
        return {**identity_of(self._name, self._loaded), "engine": engine}

    def probe(self) -> str:
        """Return the device it runs on, and why it runs in waves if it does."""
        place = f"in this process, on {self._loaded.model.device}"
        if not self._loaded.waves:
            return place
        return f"{place}; in waves, where all wait for the longest answer: {self._loaded.waves}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that works on `slots` requests at once.

        Raises:
            UserError: if answers are to be constrained, or the context is shorter than the longest
                answer.
        """
        refuse_constraint(sampling, "hf/NAME")
        refuse_limit(sampling, self._name, self._loaded.context)
        return SlotEngine(self._loaded, sampling, self.slots)
