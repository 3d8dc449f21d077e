"""Reports: one self-contained HTML file per run."""

from ragen_bench.pages.report.html import Home, report_pieces, write_report

__all__ = ["Home", "report_pieces", "write_report"]
