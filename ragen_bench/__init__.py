"""Scores language-model agents on text environments: runs, records, statistics, reports."""
