"""The `ragen-bench` command."""

from ragen_bench.cli.main import main

__all__ = ["main"]
