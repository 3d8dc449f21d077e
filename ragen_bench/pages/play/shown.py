"""What the page is told of a game, as JSON."""

from __future__ import annotations

from typing import Any

from ragen_bench.pages.play.ending import ending_of
from ragen_bench.pages.play.game import Game, Turn
from ragen_envs.protocol import SEPARATOR


def shown(game: Game) -> dict[str, Any]:
    """Return all that the page shows of a game.

    Args:
        game: it stays as it is.
    """
    env, played = game.env, game.played
    free = env.free_text
    return {
        "env": played.env,
        "split": played.split,
        "index": game.info["index"],
        "rollout": played.rollout,
        "turns": [turn._asdict() for turn in game.turns],
        "observation": game.observation,
        "max_turns": env.budget.max_turns,
        "turns_left": env.turns_left,
        "actions_left": env.actions_left,
        "actions_this_turn": env.actions_this_turn,
        "several": env.budget.max_actions_per_turn > 1,
        "total": game.total,
        "legal": env.legal_actions,
        "free": free and free._asdict(),
        "separator": SEPARATOR,
        "end": _end(game) if game.over else None,
    }


def _end(game: Game) -> dict[str, Any]:
    ending = ending_of(game)
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
