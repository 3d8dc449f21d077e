"""The page of all runs in a folder, with their metrics, reports and comparisons."""

from ragen_bench.pages.view.server import ViewServer

__all__ = ["ViewServer"]
