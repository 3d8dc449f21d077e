"""The page over all runs below a folder: their figures, their reports, and comparisons."""

from ragen_bench.pages.view.server import ViewServer

__all__ = ["ViewServer"]
