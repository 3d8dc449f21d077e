"""Terminal output that several commands share: console, tables, progress, summaries."""
