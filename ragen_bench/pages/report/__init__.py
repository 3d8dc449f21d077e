"""One self-contained HTML file a run."""

from ragen_bench.pages.report.html import write_report

__all__ = ["write_report"]
