"""The leaderboard as a static site: opens from disk, asks no network."""

from ragen_bench.leaderboard.site.build import Built, build_site
from ragen_bench.leaderboard.site.serve import SiteServer

__all__ = ["Built", "SiteServer", "build_site"]
