"""The suite's games for TRL's GRPOTrainer, which plays them by tool calls.

Needs the extra `trl`:

    from ragen_envs.integrations.trl import dataset, environment
    trainer = GRPOTrainer(
        ...,
        environment_factory=environment("ragen/Sokoban-v0"),
        train_dataset=dataset(tasks("ragen/Sokoban-v0", 1000)),
    )
"""

from ragen_envs.core import extras

try:
    import trl as _trl  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "trl":
        raise
    raise extras.missing("ragen_envs.integrations.trl", "trl", "trl") from None

from ragen_envs.integrations.trl.env import ToolEnvironment, dataset, environment, rows

__all__ = ["ToolEnvironment", "dataset", "environment", "rows"]
