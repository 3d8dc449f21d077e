"""The page of all runs in a folder, with their metrics, reports and comparisons."""
