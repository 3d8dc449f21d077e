"""Trajectories that are one sequence."""


def whole(trajectory):
    """Return the sequence of a trajectory that was played with the full history."""
    (sequence,) = trajectory.sequences
    return sequence
