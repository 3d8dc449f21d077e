"""The page of a comparison: one self-contained HTML file."""

from ragen_bench.pages.comparison.html import render_comparison

__all__ = ["render_comparison"]
