"""The leaderboard as a static site: opens from disk, asks no network."""

from ragen_bench.pages.leaderboard.build import Built, build_site
from ragen_bench.pages.leaderboard.serve import SiteServer

__all__ = ["Built", "SiteServer", "build_site"]
