"""Names shared with verl, and how Ray's processes begin, in a module without heavy imports."""

from __future__ import annotations

import gc

HF_ENGINE = "hf"
"""The engine that samples with transformers, see `ragen_starpo.cluster.hf_engine`."""
TRAIN, VAL = "train", "val"
"""verl's partitions of trajectories, and the splits of instances."""
TOKENS, MEAN = "tokens", "mean/"
"""Metric of the number of sampled tokens, and prefix of those that are sums over them."""


def uid_of(iteration: int, group: int) -> str:
    """Return the name of an iteration's group, without `_`, at which verl splits names."""
    return f"{iteration:08d}-{group:06d}"


def collect_garbage_rarely() -> None:
    """Collect garbage 70 times less often, since imports make objects that stay."""
    gc.set_threshold(50_000, 10, 10)
