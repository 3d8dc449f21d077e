"""One self-contained HTML file a run."""

from ragen_bench.report.html import write_report

__all__ = ["write_report"]
