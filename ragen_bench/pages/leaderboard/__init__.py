"""The leaderboard as a static site: opens from disk, asks no network."""

from ragen_bench.pages.leaderboard.build import BuiltSite, build_site

__all__ = ["BuiltSite", "build_site"]
