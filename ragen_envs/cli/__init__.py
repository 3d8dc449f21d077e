"""The `ragen-envs` command."""

from ragen_envs.cli.main import main

__all__ = ["main"]
