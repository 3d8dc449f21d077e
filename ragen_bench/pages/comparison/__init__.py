"""The page of a comparison: one self-contained HTML file."""

from ragen_bench.pages.comparison.html import comparison_page

__all__ = ["comparison_page"]
