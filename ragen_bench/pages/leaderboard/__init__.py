"""The leaderboard as a static site: opens from disk, asks no network."""

from ragen_bench.pages.leaderboard.build import Built, build_site

__all__ = ["Built", "build_site"]
