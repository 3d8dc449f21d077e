"""The meaning of the columns and metrics of the published findings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ragen_bench.json_types import JsonObject
from ragen_bench.markdown import Markdown, link, make_table
from ragen_starpo.studies.definition import FEW_BOARDS, Task

COLUMNS = {
    "claim": "the claim in words, and in brackets the metric that tests it",
    "game": "the game that the agents learn, with the side of its board; then the learning rate of "
    "the policy and the length of training",
    "figure": "the place in the paper",
    "theirs": "the paper's own number, if it gives one",
    "ours": "the first side of *levels* minus the second, in the metric's unit, with its interval; "
    "then δ: a smaller difference counts as none. Each starting model counts the same, which "
    "matters where only some runs have the metric. Where the claim is that a setting does more in "
    "one case than in another, or that two settings add up, this is half of the difference between "
    "the cases",
    "levels": "the metric's mean in each variant: those of the first side, *vs*, then those of the "
    "second side or the number that the claim names; a side of several variants is their mean",
    "verdict": "*the same*: the whole interval is within ±δ, even if it excludes 0; *higher*, "
    "*lower*: otherwise, if it excludes 0; *undecided*: neither; *not testable here*: the named "
    "condition of the rules is not met, so no difference is given; then whether this is as claimed",
    "runs": "runs of each variant that were judged: {starts} starting models (warm starts) times "
    "the seeds of each; what one seed leaves undecided gets more",
    "curves": "success of each run in the course of training",
}
_MONITOR = "https://ragen-bench.github.io/ragen-bench/diagnostics/"
_LEAD = "in collapsed runs, iterations from the monitor's first warning of {} to the collapse"
MEANINGS = {
    "mean": "success in training, mean over all iterations: who learns faster",
    "test": "success on held-out instances after training: who ends higher",
    "gain": "`test` minus the same before training",
    "best": "highest mean of 20 iterations",
    "last": "mean of the last 20 iterations",
    "collapsed": "per cent of runs that collapse: their mean of 20 iterations falls 15 points "
    "below its best so far",
    "collapse_time": "iteration of the collapse; the last one if there is none",
    "deviation_lead": _LEAD.format("a falling reward deviation within groups"),
    "entropy_lead": _LEAD.format("falling entropy"),
    "gradient_lead": _LEAD.format("a growing gradient norm")
    + "; the monitor looks at it after a warning of another sign, while the reward has not fallen",
    "monitor_lead": _LEAD.format("any sign"),
    "monitor_recall": "per cent of collapsed runs with a warning no later than the collapse",
    "monitor_precision": "per cent of runs with a warning that collapse no earlier than it",
}
"""The meaning of each of `METRICS`, in Markdown."""


def make_legend(studies: Sequence[JsonObject]) -> list[str]:
    """Return the section on the tables' columns and on the metrics that occur in them."""
    starts = " or ".join(map(str, sorted({study["warm_starts"] for study in studies})))
    columns = [[name, Markdown(text.format(starts=starts))] for name, text in COLUMNS.items()]
    used = {claim["metric"] for study in studies for claim in study["claims"]}
    metrics = [[name, Markdown(text)] for name, text in MEANINGS.items() if name in used]
    arms = {arm["hash"]: arm for study in studies for arm in study["arms"]}
    starts_of: dict[str, list[float]] = {}
    for arm in arms.values():
        task = Task(**arm["task"])
        few = task.tested_board in FEW_BOARDS
        title = f"{task.title} (first iteration of training)" if few else task.full_title
        starts_of.setdefault(title, []).append(arm["first" if few else "start"])
    levels = [f"{title} {fmean(of_arms):.1f}" for title, of_arms in starts_of.items()]
    return [
        "## How to read a row",
        make_table(["column", "meaning"], columns),
        "Success is the percentage of episodes that are solved, and differences of it are points. "
        f"Before training, success on held-out instances is: {'; '.join(sorted(levels))}.",
        make_table(["metric", "meaning"], metrics),
        f"The {link('monitor', _MONITOR)} watches training for signs of a collapse. A warning that "
        "never comes counts as one of the last iteration, and *levels* says in how many runs. "
        "Where most runs have none, the iterations say no more than that. "
        "In the pictures a difference and its interval are divided by δ.",
    ]
