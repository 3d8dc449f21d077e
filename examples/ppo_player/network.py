"""The policy's network: from arrays to a turn, in NumPy, as Stable-Baselines3 computes it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppo_player.trained import Policy

Weights = dict[str, NDArray[np.float32]]
"""`weight0`, `bias0` and so on, from the first layer to the last."""
FOLDER = Path(__file__).parent


@cache
def load(policy: Policy) -> Weights:
    """Return a policy's weights.

    Raises:
        OSError: if their file cannot be read, as when it was not made yet.
        ValueError: if they are not those that `TRAINED` names.
    """
    file = FOLDER / policy.file
    if hashlib.sha256(file.read_bytes()).hexdigest() != policy.sha256:
        raise ValueError(f"{policy.file} holds other weights than TRAINED names")
    with np.load(file) as arrays:
        return dict(arrays)


def turn_of(arrays: dict[str, NDArray[Any]], weights: Weights, known: int) -> list[int]:
    """Return the most likely turn: for each of its places 0 for none, or n for the n-th action.

    Args:
        arrays: the observation, which is made one vector as `FlattenObservation` makes it: its
            parts in the order of their names.
        weights: of a policy with tanh between its layers.
        known: how many actions there are.
    """
    values = np.concatenate([arrays[name].ravel() for name in sorted(arrays)]).astype(np.float32)
    last = len(weights) // 2 - 1
    for layer in range(last + 1):
        values = weights[f"weight{layer}"] @ values + weights[f"bias{layer}"]
        values = values if layer == last else np.tanh(values)
    places: list[int] = values.reshape(-1, known + 1).argmax(axis=1).tolist()
    return places
