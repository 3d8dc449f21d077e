"""The commands that make one trained agent, each run once."""

from __future__ import annotations

from pathlib import Path

from ragen_envs.core.instances import Split
from ragen_starpo.commands import Stage
from ragen_starpo.demo.games import (
    EVALUATION_SEED,
    MAX_TOKENS,
    RESPONSE_FORMAT,
    SAMPLES,
    SPLITS,
    Game,
)

MODELS = ("before", "warm start", "RL")
"""The rows of the table, by the names of their evaluations."""


def stages(game: Game, seed: int, instances: int) -> list[Stage]:
    """Return the commands that train and evaluate an agent, in their order.

    Args:
        game: that it plays.
        seed: of all that is drawn.
        instances: of each split, that it is evaluated on.
    """
    form = ("--env", game.env, "--format", RESPONSE_FORMAT, "--max-tokens", str(MAX_TOKENS))
    warm = (
        *("--episodes", str(game.episodes), "--epochs", str(game.epochs)),
        *("--learning-rate", str(game.learning_rate), "--validate-every", "4"),
        *("--val-instances", str(instances)),
    )
    made = [
        Stage("model", "ragen-train", ("small-model", "small", "--seed", str(seed))),
        Stage(
            "warm start",
            "ragen-train",
            ("warm-start", "small", "--out", "warm", *form, *warm, "--seed", str(seed)),
        ),
        Stage(
            "RL",
            "ragen-train",
            ("local", game.recipe, "model=warm", f"seed={seed}", "--out", "run"),
        ),
    ]
    played = ("--limit", str(instances), "--seed", str(EVALUATION_SEED))
    for split in SPLITS:
        for name, model in zip(MODELS, ("small", "warm", "run/best"), strict=True):
            samples = 1 if name == MODELS[0] else SAMPLES
            how = ("--split", split, *played, "--samples", str(samples))
            out = ("--out", str(evaluation(name, split)))
            arguments = ("evaluate", f"hf/{model}", *form, *how, *out)
            made.append(Stage(f"evaluation: {name}, {split}", "ragen-bench", arguments))
    return made


def evaluation(model: str, split: Split) -> Path:
    """Return where the evaluation of one of `MODELS` lies, from the agent's folder."""
    return Path("evaluations") / f"{model.replace(' ', '-').lower()}-{split}"
