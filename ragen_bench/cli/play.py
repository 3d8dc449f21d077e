"""`play`: a person in the terminal, in any environment."""

from __future__ import annotations

import sys

from ragen_bench.errors import UserError
from ragen_bench.suites import env_id, make_env, split_name

_QUIT = {"q", "quit", "exit"}


def play(name: str, split: str, seed: int, rollout: int) -> int:
    """Play one episode with answers from standard input.

    Raises:
        UserError: for an unknown environment or split, or a seed that cannot be.
    """
    if seed < 0 or rollout < 0:
        raise UserError("--seed and --rollout are at least 0")
    env = make_env(env_id(name), split_name(split), "plain")
    observation, info = env.reset(seed=seed, options={"rollout": rollout})
    sys.stdout.write(f"{observation}\n\n(q ends the game)\n")
    total = 0.0
    while True:
        answer = _ask()
        if answer is None:
            sys.stdout.write("You left the game.\n")
            return 0
        observation, reward, terminated, truncated, info = env.step(answer)
        total += reward
        sys.stdout.write(f"\n{observation}\n\n")
        if terminated or truncated:
            break
    ended = "Solved." if info["success"] else "Out of budget." if truncated else "Lost."
    sys.stdout.write(f"{ended} Return {total:.2f}, score {info['score']:.2f}.\n")
    return 0


def _ask() -> str | None:
    """Return a line, or None at its end or when the player wants to leave."""
    sys.stdout.write("> ")
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line or line.strip().lower() in _QUIT:
        return None
    return line.rstrip("\n")
