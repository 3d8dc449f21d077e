"""The `ragen-train` command."""

from ragen_starpo.cli.main import main

__all__ = ["main"]
