"""Run directories: their files, the form of their records, the checks on resume and replay."""
