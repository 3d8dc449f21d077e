"""The games of the demo, and the commands that make one trained agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragen_envs.core.instances import Split
from ragen_starpo.commands import Stage

_RESPONSE_FORMAT = "answer"
_MAX_TOKENS = 14
"""Maximum length of a response: five actions, two tags and the end take eight tokens."""
SPLITS: tuple[Split, ...] = ("val", "test")
"""Splits of the final table. Models are selected on val, so claims rest on test."""
_SAMPLES = 2
"""Episodes of each instance in the final table; the untrained model plays one."""
_EVALUATION_SEED = 1
"""Seed of the final table. Models are selected with seed 0, so other episodes measure them."""
MODELS = ("before", "warm start", "RL")
"""Rows of the table, by the names of their evaluations."""


@dataclass(frozen=True)
class Game:
    """A game of the demo.

    The warm start makes `epochs` passes over this number of the oracle's episodes. The recipe is
    that of reinforcement learning.
    """

    env: str
    recipe: str
    episodes: int
    epochs: int
    learning_rate: float = 2e-3


GAMES = (
    Game("Sokoban-v0", "demo-sokoban", 500, 180),
    Game("FrozenLake-v0", "demo-frozen-lake", 200, 80),
)


def make_stages(game: Game, seed: int, instances: int) -> list[Stage]:
    """Return the commands that train and evaluate an agent, in their order.

    The seed is that of the weights, the instances and the training. The evaluation has this number
    of instances of each split.
    """
    form = ("--env", game.env, "--format", _RESPONSE_FORMAT, "--max-tokens", str(_MAX_TOKENS))
    warm_start = (
        *("warm-start", "small", "--out", "warm", *form),
        *("--episodes", str(game.episodes), "--epochs", str(game.epochs)),
        *("--learning-rate", str(game.learning_rate), "--validate-every", "4"),
        *("--val-instances", str(instances), "--seed", str(seed)),
    )
    training = ("local", game.recipe, "model=warm", f"seed={seed}", "--out", "run")
    stages = [
        Stage("model", "ragen-train", ("small-model", "small", "--seed", str(seed))),
        Stage("warm start", "ragen-train", warm_start),
        Stage("RL", "ragen-train", training),
    ]
    limits = ("--limit", str(instances), "--seed", str(_EVALUATION_SEED))
    for split in SPLITS:
        for name, model in zip(MODELS, ("small", "warm", "run/best"), strict=True):
            samples = 1 if name == MODELS[0] else _SAMPLES
            options = ("--split", split, *limits, "--samples", str(samples))
            out = ("--out", str(evaluation_folder(name, split)))
            arguments = ("evaluate", f"hf/{model}", *form, *options, *out)
            stages.append(Stage(f"evaluation: {name}, {split}", "ragen-bench", arguments))
    return stages


def evaluation_folder(model: str, split: Split) -> Path:
    """Return the folder of the evaluation of one of `MODELS`, relative to the agent's."""
    return Path("evaluations") / f"{model.replace(' ', '-').lower()}-{split}"
