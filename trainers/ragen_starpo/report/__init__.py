"""One self-contained HTML page a training run."""

from ragen_starpo.report.html import write_report

__all__ = ["write_report"]
