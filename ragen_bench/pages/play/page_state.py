"""The state of an episode as the page shows it, JSON-able."""

from __future__ import annotations

from typing import Any

from ragen_bench.pages.play.ending import ending_of
from ragen_bench.pages.play.episode import HumanEpisode, Turn
from ragen_envs.core.protocol import SEPARATOR


def page_state(episode: HumanEpisode) -> dict[str, Any]:
    """Return all that the page shows of an episode, which stays as it is."""
    env, choice = episode.env, episode.choice
    free = env.free_text
    return {
        "env": choice.env,
        "split": choice.split,
        "index": episode.info["index"],
        "noise_seed": choice.noise_seed,
        "turns": [turn._asdict() for turn in episode.turns],
        "observation": episode.observation,
        "max_turns": env.budget.max_turns,
        "turns_left": env.turns_left,
        "actions_left": env.actions_left,
        "actions_this_turn": env.actions_this_turn,
        "several": env.budget.max_actions_per_turn > 1,
        "total": episode.total,
        "legal": env.legal_actions,
        "free": free and {"before": free.before, "after": free.after, "longest": free.longest},
        "separator": SEPARATOR,
        "end": _end(episode) if episode.over else None,
    }


def _end(episode: HumanEpisode) -> dict[str, Any]:
    ending = ending_of(episode)
    return {
        "verdict": ending.verdict,
        "score": ending.score,
        "ceiling": ending.ceiling,
        "parts": ending.parts,
        "oracle": [_without_observation(turn) for turn in ending.oracle],
        "oracle_total": ending.oracle_total,
    }


def _without_observation(turn: Turn) -> dict[str, Any]:
    return {"answer": turn.answer, "reward": turn.reward}
