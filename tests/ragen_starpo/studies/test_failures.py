"""How alike an agent's failures are, counted by hand."""

import pytest

from ragen_starpo.studies.failures import failure_figures


def row(env, **labels):
    failures = [{"label": label, "episodes": count} for label, count in labels.items()]
    return {"env": env, "failed": sum(labels.values()), "failures": failures}


def test_the_smaller_shares_of_each_label_are_what_two_environments_have_in_common():
    first = row("a", deadlock=6, out_of_budget=2)
    others = [row("b", out_of_budget=3, deadlock=1), row("c", fell_unlucky=5), row("d", deadlock=1)]
    assert failure_figures([first, *others]) == {
        "failures_alike": pytest.approx((0.5 + 0.0 + 0.75) / 3),
        "failures_alike/b": 0.5,
        "failures_alike/c": 0.0,
        "failures_alike/d": 0.75,
    }


def test_an_agent_that_never_fails_has_nothing_to_compare():
    found = failure_figures([row("a", deadlock=1), row("b"), row("c", deadlock=2)])
    assert found == {"failures_alike": None, "failures_alike/b": None, "failures_alike/c": 1.0}
    assert failure_figures([row("a"), row("c", deadlock=2)])["failures_alike/c"] is None
    assert failure_figures([row("a", deadlock=1)]) == {}
