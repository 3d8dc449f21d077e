"""Training reports: one self-contained HTML page for each run."""

from ragen_starpo.report.html import write_report

__all__ = ["write_report"]
