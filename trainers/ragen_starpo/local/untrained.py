"""The warning that a run has learned nothing, without PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from ragen_bench.json_types import JsonObject

NO_STEPS = (
    "No step was taken, as the filter dropped all groups in every iteration; start with a model "
    "that sometimes succeeds, or raise rollouts.samples or rollouts.temperature"
)
NO_TOKENS = (
    "No step was taken, as every response that the filter kept was cut by rollouts.max_tokens or "
    "is of an episode with a turn without an action, and loss.mask_truncated or "
    "loss.mask_void_turns trains on none of them; raise rollouts.max_tokens, or set these to false"
)


class UntrainedWarning(UserWarning):
    """A finished run has the weights that it began with."""


def has_learned(line: JsonObject) -> bool:
    """Return whether an iteration took a step, from its line of metrics; True if it is silent."""
    return bool(line.get("trained_tokens", line.get("filter/kept", 1)))


def find_reason(lines: Iterable[JsonObject]) -> str | None:
    """Return why a run took no step, from the lines of its metrics; None if it did, or has none."""
    played = list(lines)
    if not played or any(map(has_learned, played)):
        return None
    return NO_TOKENS if any(line.get("filter/kept") for line in played) else NO_STEPS


def warn_if_untrained(lines: Iterable[JsonObject]) -> None:
    """Warn the caller of `train` about a run that took no step."""
    if reason := find_reason(lines):
        warnings.warn(reason, UntrainedWarning, stacklevel=3)
