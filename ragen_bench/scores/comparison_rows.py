"""The rows of a comparison as its table and its page list them, and its notes."""

from __future__ import annotations

from ragen_bench.runs.schema import Object

MEAN = ""
"""Stands for the mean over environments among their ids."""


def has_mean(differences: Object) -> bool:
    """Return whether a pair of runs has a mean over environments."""
    return len(differences["envs"]) > 1 and differences["suite"]["success"] is not None


def rows_by_environment(compared: Object) -> dict[str, list[tuple[str, Object]]]:
    """Return the letters of the other runs with their rows, by environment; `MEAN` is the last.

    Args:
        compared: what `compare_with_first` returns.
    """
    rows: dict[str, list[tuple[str, Object]]] = {}
    means = []
    for run, differences in zip(compared["runs"][1:], compared["comparisons"], strict=True):
        for row in differences["envs"]:
            rows.setdefault(row["env"], []).append((run["name"], row))
        if has_mean(differences):
            means.append((run["name"], differences["suite"]))
    return {**rows, MEAN: means} if means else rows


def notes_of(compared: Object) -> list[str]:
    """Return the notes of all pairs, each once."""
    notes = [note for differences in compared["comparisons"] for note in differences["notes"]]
    return list(dict.fromkeys(notes))
