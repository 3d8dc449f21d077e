"""The metrics that a study's claims and tables may use."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Metric(NamedTuple):
    """A metric of a run.

    Attributes:
        unit: `percent` for a rate of episodes or runs, `rank` for a rank correlation.
        heading: Heading of its column in the tables; empty for a metric without a column.
        needs: Required measurement of a run: `test` or `val` success, the mutual `information` of
            thoughts, or `thoughts` at all.
        per_run: True if the table of runs has the column too.
    """

    unit: Literal["percent", "rank", "number"]
    heading: str = ""
    needs: Literal["", "test", "val", "information", "thoughts"] = ""
    per_run: bool = True


METRICS = {
    "start": Metric("percent", "start", "val"),
    "best": Metric("percent", "best", "val"),
    "last": Metric("percent", "last", "val"),
    "rise": Metric("percent", needs="val"),
    "gain": Metric("percent", needs="val"),
    "fall": Metric("percent", needs="val"),
    "test_start": Metric("percent", "test before", "test"),
    "test": Metric("percent", "test", "test"),
    "test_gain": Metric("percent", "test gain", "test"),
    "rollouts_start": Metric("percent", "rollouts at first"),
    "rollouts_best": Metric("percent", "rollouts at best"),
    "rollouts_last": Metric("percent", "rollouts at last"),
    "rollouts_rise": Metric("percent"),
    "rollouts_mean": Metric("percent", "rollouts on average"),
    "collapsed": Metric("percent", "collapsed", per_run=False),
    "collapse_iteration": Metric("number", "collapse at"),
    "warned": Metric("percent"),
    "warning_right": Metric("percent"),
    "warning_lead": Metric("number"),
    "deviation_lead": Metric("number"),
    "entropy_lead": Metric("number"),
    "gradient_lead": Metric("number"),
    "trained_tokens": Metric("number", "trained tokens", per_run=False),
    "generated_tokens": Metric("number"),
    "environment_turns": Metric("number", "turns", per_run=False),
    "seconds": Metric("number", "seconds"),
    "tokens_to_target": Metric("number", "tokens to target", "val", per_run=False),
    "information_rank": Metric("rank", "rank of information", "information"),
    "entropy_rank": Metric("rank", "rank of entropy", "information"),
    "rank_gain": Metric("rank", "information less entropy", "information"),
    "information_last": Metric("number", "information at last", "information"),
    "failures_alike": Metric("percent", "failures alike", "test"),
    "thought_length_start": Metric("number", "thoughts at first", "thoughts"),
    "thought_length_last": Metric("number", "thoughts at last", "thoughts"),
    "thought_length_fall": Metric("number", needs="thoughts"),
    "agreement_start": Metric("percent", "plan ok before", "test"),
    "agreement": Metric("percent", "plan ok", "test"),
    "agreement_gain": Metric("percent", needs="test"),
    "truth_start": Metric("percent", "true before", "test"),
    "truth": Metric("percent", "true", "test"),
    "truth_gain": Metric("percent", needs="test"),
}
"""Metrics by name, in the order of the tables' columns. Their values are computed in
`ragen_starpo.studies.run_metrics` and `ragen_starpo.studies.outcomes`."""
BY_INSTANCE = ("test", "test_gain")
"""Metrics with a value for each test instance, so that intervals cover instances too."""
BY_ENV = (*BY_INSTANCE, "failures_alike")
"""Metrics with a value for each test environment."""
