"""The leaderboard as a static site, which opens from disk without network access."""

from ragen_bench.pages.leaderboard.build import BuiltSite, build_site

__all__ = ["BuiltSite", "build_site"]
