"""The evaluation loop: one episode, many in flight, and a whole run from start to resume."""
