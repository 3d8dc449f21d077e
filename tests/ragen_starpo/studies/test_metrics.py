"""Metrics of runs: their definitions by hand, and the monitor's signs."""

import math

import numpy as np
import pytest

from ragen_starpo.studies.metrics import Runs, find_missing_signs, find_rise, measure, measure_signs


def runs_of(*success, **curves):
    of_success = np.array(success, np.float32)
    zeros = np.zeros(len(success), np.float32)
    others = {name: np.array(values, np.float32) for name, values in curves.items()}
    return Runs({"success": of_success, **others}, zeros + 0.75, zeros + 0.25, 1.0)


def test_metrics_of_success():
    steady = [0.2] * 20 + [0.6] * 60
    fallen = [0.2] * 20 + [0.6] * 40 + [0.3] * 20
    metrics = measure(runs_of(steady, fallen))
    assert metrics["mean"] == pytest.approx([50, 42.5])
    assert metrics["test"] == pytest.approx([75, 75])
    assert metrics["gain"] == pytest.approx([50, 50])
    assert metrics["best"] == pytest.approx([60, 60])
    assert metrics["last"] == pytest.approx([60, 30])
    assert metrics["collapsed"].tolist() == [0, 100]
    # Ten of twenty iterations at 30 in place of 60 lose 15 points.
    assert metrics["collapse_time"].tolist() == [80, 70]


def test_the_rise_is_that_of_the_mean_run():
    first, second = [0.1] * 20 + [0.9] * 20, [0.1] * 20 + [0.5] * 20
    assert find_rise(runs_of(first, second)) == pytest.approx(60)
    assert find_rise(runs_of(first, first[::-1])) == pytest.approx(0)


def test_leads_are_the_iterations_from_a_warning_to_the_collapse():
    success = [0.5] * 40 + [0.1] * 20
    falling = [0.45] * 30 + [0.05] * 30
    runs = runs_of(success, [0.5] * 60, reward_deviation=[falling, [0.45] * 60])
    collapse = measure(runs)["collapse_time"][0]
    signs = measure_signs(runs)
    # A moving median of five iterations has fallen with the third of them.
    assert signs["deviation_lead"][0] == collapse - 33
    assert signs["monitor_lead"][0] == collapse - 33
    assert signs["gradient_lead"][0] == collapse - 60
    assert math.isnan(signs["monitor_lead"][1])
    assert signs["monitor_recall"][0] == signs["monitor_precision"][0] == 100
    assert math.isnan(signs["monitor_precision"][1])


def test_a_warning_without_a_collapse_is_imprecise():
    runs = runs_of([0.5] * 60, reward_deviation=[[0.45] * 30 + [0.05] * 30])
    signs = measure_signs(runs)
    assert signs["monitor_precision"][0] == 0
    assert math.isnan(signs["monitor_recall"][0])


def test_a_sign_at_the_last_iteration_is_not_missed():
    success = [0.5] * 40 + [0.1] * 20
    # A moving median of five iterations has fallen with the third of them.
    last, none = [0.45] * 57 + [0.05] * 3, [0.45] * 60
    runs = runs_of(success, success, [0.5] * 60, reward_deviation=[last, none, last])
    lead = measure(runs)["collapse_time"][0] - 60
    assert measure_signs(runs)["deviation_lead"][:2].tolist() == [lead, lead]
    assert find_missing_signs(runs, "deviation_lead") == pytest.approx(
        [0, 1, math.nan], nan_ok=True
    )
