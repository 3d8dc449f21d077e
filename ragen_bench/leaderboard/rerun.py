"""Compares an entry with its rerun by a maintainer."""

from __future__ import annotations

from ragen_bench.json_types import JsonObject


def compare_rerun(entry: JsonObject, rerun: JsonObject) -> JsonObject:
    """Compare the 95 % intervals in the summaries of an entry and of a rerun of the same suite.

    Two intervals overlap if they share a point. Independent 95 % intervals of the same value fail
    to overlap in about one case of 180, for normal errors. A rerun without overlap in a single
    environment may be bad luck; one in the suite score hardly. The result has the suite score and
    each environment's score, with both intervals and whether they overlap, and `reproduced`:
    whether all do.
    """
    rows = {row["env"]: row for row in rerun["envs"]}
    envs = [
        {"env": row["env"], **_compare(row, rows[row["env"]], "score", "score_interval")}
        for row in entry["envs"]
    ]
    suite = _compare(entry, rerun, "suite_score", "suite_score_interval")
    return {
        "reproduced": all(row["overlap"] for row in (suite, *envs)),
        "suite": suite,
        "envs": envs,
    }


def _compare(entry: JsonObject, rerun: JsonObject, score: str, interval: str) -> JsonObject:
    (low, high), (other_low, other_high) = entry[interval], rerun[interval]
    return {
        "entry": entry[score],
        "entry_interval": entry[interval],
        "rerun": rerun[score],
        "rerun_interval": rerun[interval],
        "overlap": low <= other_high and other_low <= high,
    }
