"""Browser pages: reports, run lists, comparisons, the leaderboard site, annotation and play."""
