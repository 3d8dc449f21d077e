"""The driver of one process: rollouts and updates in turn, without Ray."""
