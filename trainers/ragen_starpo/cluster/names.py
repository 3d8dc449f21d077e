"""Names that verl and this driver share, in any process and before anything heavy is loaded."""

from __future__ import annotations

HF_ENGINE = "hf"
"""The engine that samples by transformers, see `ragen_starpo.cluster.hf_replica`."""
AGENT_LOOP = "starpo"
"""The agent loop, see `ragen_starpo.cluster.agent_loop`."""
TRAIN, VAL = "train", "val"
"""verl's partitions of trajectories, and the splits of instances."""


def uid_of(iteration: int, group: int) -> str:
    """Return the name of an instance of an iteration: verl splits names of rollouts at `_`."""
    return f"{iteration:08d}-{group:06d}"


def server_name(rank: int) -> str:
    """Return the Ray name of the server that samples for the trainer's process of a rank."""
    return f"ragen-hf-{rank}"
