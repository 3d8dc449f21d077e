"""Scores of a run: metrics of its episodes, the summary, comparisons and costs."""
