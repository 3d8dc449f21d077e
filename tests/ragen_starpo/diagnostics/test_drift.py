"""Metrics that rise without a gain, and held-out success that is lost."""

import math
from random import Random

import pytest

from ragen_starpo.diagnostics.drift import find_drift

ENTROPY, LENGTH, CUT = "policy/entropy", "rollout/answer_tokens", "rollout/cut"


def run(metric, values, rewards):
    return [
        {"iteration": number, metric: value, "rollout/reward": reward}
        for number, (value, reward) in enumerate(zip(values, rewards, strict=True))
    ]


def straight(first, last, count=40):
    return [first + (last - first) * number / (count - 1) for number in range(count)]


def texts(lines, start=(), window=5):
    return [warning.text for warning in find_drift(lines, dict(start), window)]


def validated(*shares, width=0.1):
    return [
        {"iteration": n, "val/success": s, "val/A/low": s - width, "val/A/high": s + width}
        for n, s in enumerate(shares)
    ]


@pytest.mark.parametrize(
    ("metric", "ends", "said"),
    [
        (ENTROPY, (1.9, 3.2), "the entropy rose from 1.97 to 2.67, and the reward did not rise"),
        (ENTROPY, (1.9, 2.4), None),
        (ENTROPY, (3.2, 1.9), None),
        (LENGTH, (10, 30), "the length of an answer in tokens rose from 11 to 16.7, and"),
        (LENGTH, (10, 14), None),
        (CUT, (0, 0.4), "the fraction of answers cut at rollouts.max_tokens rose from 0.0205 to"),
        (CUT, (0.01, 0.08), None),
    ],
)
def test_a_rise_without_a_gain_is_said_once(metric, ends, said):
    found = texts(run(metric, straight(*ends), straight(0.4, 0.2)))
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


@pytest.mark.parametrize(("metric", "count"), [(ENTROPY, 0), (LENGTH, 0), (CUT, 1)])
def test_a_gain_in_reward_excuses_all_but_cut_answers(metric, count):
    assert len(texts(run(metric, straight(0.5, 2), straight(0.1, 0.6)))) == count


def test_a_gain_counts_though_the_first_reward_is_missing():
    lines = run(ENTROPY, straight(0.5, 2), straight(0.1, 0.6))
    del lines[0]["rollout/reward"]
    assert texts(lines) == []


def test_a_rise_is_measured_by_what_the_entropy_was_before_it_fell():
    """An entropy that fell from 1 to 0.05 is not news at 0.3, and is at 0.5."""
    fall = straight(1.02, 0.05)
    for last, count in ((0.3, 0), (0.5, 1)):
        values = fall + straight(0.05, last)
        assert len(texts(run(ENTROPY, values, [0.4] * 80))) == count


def test_a_rise_that_is_lost_and_comes_again_is_said_again():
    values = [*straight(1, 2), *straight(2, 1), *straight(1, 2)]
    assert len(texts(run(ENTROPY, values, [0.4] * 120))) == 2


def test_noise_and_spikes_are_no_news():
    said = 0
    for seed in range(100):
        noise = Random(seed)
        values = [max(0.0, noise.gauss(0.6, 0.15)) for _ in range(120)]
        values[50] = values[90] = 6.0
        said += bool(texts(run(ENTROPY, values, [noise.gauss(0.4, 0.1) for _ in range(120)])))
    assert said <= 5


def test_lost_held_out_success_is_said():
    (text,) = texts(validated(0.25, 0.6, 0.5, 0.3, 0.35, 0.3), {"val/success": 0.1}.items())
    assert text == (
        "Warning in iteration 3: held-out success is 30.0 %, 30.0 points below its best of 60.0 % "
        "(iteration 1); best/ has that model."
    )
    (text,) = texts(validated(0.125), {"val/success": 0.375}.items())
    assert "best of 37.5 % (the model that training began with)" in text


def test_a_loss_that_chance_may_explain_is_called_so():
    assert texts(validated(0.375, 0.125, width=0.25))[0].endswith(
        "Chance alone may explain it: raise validation.instances."
    )
    assert texts(validated(0.5, 0.4, 0.35)) == texts(validated(0.04, 0.0)) == []


def test_values_that_are_missing_or_not_finite_are_skipped():
    lines = run(ENTROPY, straight(1.9, 3.2), straight(0.4, 0.2))
    spoiled = [{**line, ENTROPY: math.nan, "val/success": math.inf} for line in lines[:3]]
    bare = [{"iteration": number} for number in range(9)]
    assert texts([*spoiled, *bare, *lines]) == texts([*bare, *lines]) != []
