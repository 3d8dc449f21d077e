"""Pages in a browser: the report, the leaderboard's site, annotation and play."""
