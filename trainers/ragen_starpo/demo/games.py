"""The games of the demo, and how long each is trained."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.instances import Split

RESPONSE_FORMAT = "answer"
MAX_TOKENS = 14
"""Of an answer: five actions, two tags and the end are eight."""
SPLITS: tuple[Split, ...] = ("val", "test")
"""Of the final table. The best models are chosen by val, so test is what a claim rests on."""
SAMPLES = 2
"""Episodes of each instance in the final table; of a model that has learned nothing, one."""
EVALUATION_SEED = 1
"""Of the final table. Models are chosen with seed 0, and other episodes tell what they reach."""


@dataclass(frozen=True)
class Game:
    """A game of the demo.

    Attributes:
        env: its id without the namespace.
        recipe: of the reinforcement learning, of those that come with the package.
        episodes: of the oracle that the warm start learns from.
        epochs: passes over them.
        learning_rate: of the warm start.
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
