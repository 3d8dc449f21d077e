"""The verifier of a task: it replays the recorded responses and writes the rewards.

python -m ragen_envs.integrations.harbor.verifier TASK RESPONSES REWARDS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.integrations.harbor.server import open_episode, read_task


def replay(episode: Episode, task: Task, lines: list[str]) -> dict[str, float]:
    """Return the rewards of recorded responses: `reward` is the return.

    `success` is 0 or 1, and `score` is there if the environment reports one. An episode that was
    not finished has no score and no success.

    Raises:
        ValueError: The record is not one of this task by this version.
    """
    episode.reset(task.seed, task.noise_seed)
    for number, line in enumerate(lines, 1):
        try:
            recorded = json.loads(line)
            response, reward = str(recorded["response"]), float(recorded["reward"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"response {number} cannot be read: {error!r}") from error
        if episode.done:
            raise ValueError(f"response {number} comes after the end of the episode")
        found = episode.step(response).reward
        if found != reward:
            raise ValueError(
                f"response {number} was rewarded {reward:g} and is worth {found:g} here; play and "
                "verify with the same version of ragen-bench"
            )
    rewards = {"reward": episode.total_reward, "success": float(episode.success or False)}
    score = episode.info.get("score")
    return {**rewards, "turns": float(len(lines)), **({} if score is None else {"score": score})}


def main(task_file: str, responses: str, rewards: str) -> None:
    """Write the rewards of a file of responses."""
    task = read_task(Path(task_file))
    lines = Path(responses).read_text(encoding="utf-8").splitlines()
    found = replay(open_episode(task), task, lines)
    Path(rewards).write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"no reward: {error}")
