"""Reports: one self-contained HTML file for each run."""

from ragen_bench.pages.report.html import write_report

__all__ = ["write_report"]
