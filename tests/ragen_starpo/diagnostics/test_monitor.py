"""The monitor on made curves: what is healthy, what is a trap, and what only looks like one."""

import json
import math
import random
from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor
from ragen_starpo.diagnostics.thoughts import measure_information
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import MonitorSettings
from tests.cases import examples
from tests.ragen_starpo.diagnostics.made_curves import (
    FIGURES,
    ITERATIONS,
    by_chance,
    collapse,
    early_collapse,
    form_learned,
    line,
    noisy,
    rise,
)


def warnings_of(lines, **changed):
    monitor = EchoTrapMonitor(MonitorSettings(**changed))
    return [warning for one in lines for warning in monitor.take(one)]


def kinds(lines, **changed):
    return [(one.kind, one.iteration) for one in warnings_of(lines, **changed)]


def test_a_healthy_noisy_rise_is_hardly_ever_news():
    said = [kinds(noisy(seed, 0.15, map(rise, range(ITERATIONS)))) for seed in range(100)]
    assert sum(map(bool, said)) <= 3
    assert not any(kind == "confirmed" for one in said for kind, _ in one)


def test_rollouts_that_differ_by_chance_are_hardly_ever_news():
    """Shares that stay as they are, of 8 groups of 4 rollouts, in 120 runs."""
    noise = random.Random(0)
    said = [
        kinds(by_chance(noise, success))
        for success in (0.005, 0.01, 0.03, 0.1, 0.5, 0.95)
        for _ in range(20)
    ]
    assert sum(map(bool, said)) <= 6


@given(
    st.integers(60, 400), st.floats(0.02, 0.9), st.sampled_from(["linear", "exponential", "cosine"])
)
@settings(max_examples=examples(60), deadline=None)
def test_a_slow_anneal_of_entropy_is_no_news(length, end, form):
    shapes = {
        "linear": lambda t: 1 + (end - 1) * t,
        "exponential": lambda t: max(end, 0.2) ** t,
        "cosine": lambda t: end + (1 - end) * (1 + math.cos(math.pi * t)) / 2,
    }
    found = [line(n, 0.5, 0.5, 2 * shapes[form](n / length), 1.0) for n in range(length + 1)]
    assert kinds(found) == []


@given(st.integers(40, 150), st.integers(4, 10), st.floats(2, 5), st.integers(0, 10**6))
@settings(max_examples=examples(60), deadline=None)
def test_a_collapse_is_seen_before_half_of_the_success_is_gone(start, lead, pace, seed):
    curve = list(collapse(start, lead, pace))
    said = kinds(noisy(seed, 0.05, curve))
    (early, first), *_ = said
    assert early == "early"
    assert start < first
    assert curve[first][0] > curve[start][0] / 2
    confirmed = [number for kind, number in said if kind == "confirmed"]
    assert len(confirmed) == 1
    assert first <= confirmed[0] <= start + lead + 30


@given(st.sets(st.integers(0, 12), max_size=12), st.sampled_from(FIGURES), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_spikes_alone_are_no_news(places, figure, up):
    """One in nine iterations, of any figure, ten times up or down to nothing."""
    found = [line(number, 0.5, 0.4, 1.0, 1.0) for number in range(130)]
    for place in places:
        found[9 * place + 13][figure] *= 10 if up else 0
    assert kinds(found) == []


def test_a_large_gradient_alone_is_no_news():
    found = [line(n, 0.5, 0.4, 1.0, 1.0 if n < 60 else 50.0) for n in range(100)]
    assert kinds(found) == []


def test_a_fall_while_the_reward_rises_is_never_confirmed():
    found = [line(n, n / 100, 0.4 if n < 60 else 0.1, 1.0, 1 + 9 * (n > 65)) for n in range(90)]
    assert kinds(found) == [("early", 62)]


def test_a_fall_without_a_gradient_is_never_confirmed():
    found = [line(n, 0.5, 0.4 if n < 60 else 0.1, 1.0, 1.0) for n in range(90)]
    assert kinds(found) == [("early", 62)]


def told_of(noise, start, seed=0):
    """Lines of a run that is even but for its thoughts, which tell less from an iteration on."""
    chance = random.Random(seed)
    share = "thoughts/information_share"
    return [
        line(n, 0.5, 0.4, 1.0, 1.0)
        | {share: 0.8 * math.exp(-max(0, n - start) / 4) * chance.gauss(1, noise)}
        for n in range(90)
    ]


def test_thoughts_that_no_longer_tell_of_their_contexts_are_an_early_sign():
    (warning,) = warnings_of(told_of(0, 60))
    assert (warning.kind, warning.iteration) == ("early", 64)
    assert set(warning.signals) == {"thoughts/information_share"}
    assert "the information share of thoughts fell from 0.8 to 0.485" in warning.text
    warned = [kinds(told_of(0.15, 60, seed)) for seed in range(40)]
    assert all(any(number >= 60 for _, number in run) for run in warned)
    assert not any(kind == "confirmed" for run in warned for kind, _ in run)
    assert sum(bool(kinds(told_of(0.15, 90, seed))) for seed in range(40)) <= 2


def test_thoughts_that_tell_all_of_fewer_contexts_are_no_news():
    """16 of them, and from an iteration on 3, each of which is likeliest by far in its own."""

    def told(count):
        scores = -50.0 * (1 - torch.eye(count))
        return measure_information(scores, torch.arange(count), torch.ones(count))

    found = [
        line(n, 0.5, 0.4, 1.0, 1.0)
        | {f"thoughts/{name}": value for name, value in told(16 if n < 60 else 3).items()}
        for n in range(90)
    ]
    nats = [figures["thoughts/mutual_information"] for figures in found]
    assert nats[70] < 0.4 * nats[50]
    assert kinds(found) == []


def test_where_thoughts_are_not_scored_they_say_nothing():
    some = [{**figures, "thoughts/count": 1} for figures in noisy(3, 0.15, collapse(60))]
    assert warnings_of(some) == warnings_of(noisy(3, 0.15, collapse(60)))


def test_a_warning_says_its_numbers():
    found = [
        line(n, 0.5 if n < 66 else 0.4, *((0.4, 2.0) if n < 60 else (0.1, 0.5)), 1 + 7 * (n > 66))
        for n in range(90)
    ]
    early, confirmed = warnings_of(found)
    assert early.text == (
        "Early warning in iteration 62: within 10 iterations the reward deviation in groups fell "
        "from 0.4 to 0.1 (its peak was 0.4) and the entropy fell from 2 to 0.5 (its peak was 2)."
    )
    assert confirmed.text == (
        "Confirmed in iteration 69, after the early warning of iteration 62: the reward is 0.4 "
        "(10 iterations before it was 0.5) and the gradient norm is 8, more than 3 times its "
        "median of 1."
    )
    assert asdict(early)["signals"] == {
        "rollout/reward_deviation": {"level": 0.1, "before": 0.4, "peak": 0.4},
        "policy/entropy": {"level": 0.5, "before": 2.0, "peak": 2.0},
    }
    assert confirmed.signals["policy/grad_norm"] == {"level": 8.0, "median": 1.0}


def test_a_reward_that_falls_too_needs_no_gradient():
    found = [line(n, 0.5 if n < 66 else 0.2, 0.4 if n < 60 else 0.1, 1.0, 1.0) for n in range(90)]
    _, confirmed = warnings_of(found)
    assert confirmed.text == (
        "Confirmed in iteration 68, after the early warning of iteration 62: within 10 iterations "
        "the reward fell from 0.5 to 0.2 (its peak was 0.5)."
    )
    assert confirmed.signals == {"rollout/reward": {"level": 0.2, "before": 0.5, "peak": 0.5}}


@pytest.mark.parametrize(("back", "said"), [(9, ["early", "confirmed"]), (10, ["early"])])
def test_a_warning_stands_for_a_while_after_a_recovery(back, said):
    """The entropy falls and leaps up again, and so many iterations later the reward falls."""
    found = [
        line(n, 0.5 if n < 66 + back else 0.1, 0.4, 0.1 if 60 <= n < 66 else 1.0, 1.0)
        for n in range(110)
    ]
    assert [kind for kind, _ in kinds(found)] == said


def test_a_reward_that_falls_alone_is_no_news():
    found = [line(n, 0.5 if n < 66 else 0.1, 0.4, 1.0, 1.0) for n in range(90)]
    assert kinds(found) == []


@pytest.mark.parametrize(("low", "said"), [(0.75, set()), (0.6, {"early"})])
def test_an_entropy_that_leaps_must_fall_farther(low, said):
    """Steps of 0.4 are a noise of 0.28, of which 2.5 are more than 35 % of the peak of 1.2."""
    found = [
        line(n, 0.5, 0.4, (1.0 if n < 60 else low) + (0.2 if n % 2 else -0.2), 1.0)
        for n in range(90)
    ]
    assert {kind for kind, _ in kinds(found)} == said


def test_it_warns_again_after_a_recovery_only():
    def deviation(n):
        return 0.1 if 40 <= n < 60 or n >= 80 else 0.4

    assert kinds([line(n, 0.5, deviation(n), 1.0, 1.0) for n in range(110)]) == [
        ("early", 42),
        ("early", 82),
    ]
    hovers = [
        line(n, 0.5, 0.4 if n < 40 else 0.2 + 0.04 * (n % 9 < 4), 1.0, 1.0) for n in range(99)
    ]
    assert [kind for kind, _ in kinds(hovers)] == ["early"]


@given(st.floats(1.5, 4), st.floats(0.2, 0.5), st.integers(0, 10**6))
@settings(max_examples=examples(60), deadline=None)
def test_a_form_that_is_learned_at_first_is_no_news(pace, gain, seed):
    """The entropy falls to a quarter, and the reward rises by it."""
    assert kinds(noisy(seed, 0.05, form_learned(pace, gain))) == []


@given(st.integers(2, 14), st.floats(1, 2), st.integers(0, 10**6))
@settings(max_examples=examples(60), deadline=None)
def test_a_collapse_in_the_first_iterations_is_seen(start, pace, seed):
    """Those of the warm-up too, where the first median of five iterations can show it."""
    said = kinds(noisy(seed, 0.05, early_collapse(start, pace)))
    (early, first), *_ = said
    assert early == "early"
    assert start < first <= start + 6
    assert [kind for kind, _ in said].count("confirmed") == 1


@pytest.mark.parametrize(("back", "said"), [(99, [("early", 11), ("confirmed", 11)]), (4, [])])
def test_a_fall_is_held_back_while_the_reward_is_higher(back, said):
    """The reward is a bit higher when the entropy falls, and falls soon after."""
    rewards = [0.5] * 4 + [0.52] * 5 + [0.1] * 51
    entropies = [0.3 if 5 <= n < 5 + back else 1.0 for n in range(60)]
    found = [line(n, reward, 0.4, entropies[n], 1.0) for n, reward in enumerate(rewards)]
    assert kinds(found)[:2] == said


def test_a_fall_in_the_first_iterations_does_not_stand_forever():
    """The entropy falls for good, and long after the reward falls alone."""
    found = [line(n, 0.5 if n < 60 else 0.1, 0.4, 1.0 if n < 6 else 0.4, 1.0) for n in range(90)]
    assert kinds(found) == [("early", 8)]
    found = [line(n, 0.5 if n < 10 else 0.1, 0.4, 1.0 if n < 6 else 0.4, 1.0) for n in range(90)]
    assert kinds(found) == [("early", 8), ("confirmed", 12)]


def test_the_first_iterations_do_not_count_later():
    """Neither as peaks, nor as what a figure moves by chance."""
    found = [line(n, 0.4 + 0.01 * n, 0.4, 5.0 if n < 10 else 1.0, 1.0) for n in range(60)]
    assert kinds(found) == []
    assert kinds(found, warm_up=0) == [("early", 12)]
    flat = [{**one, "rollout/reward": 0.5} for one in found]
    assert kinds(flat) == kinds(flat, warm_up=0) == [("early", 12)]


@given(st.integers(0, 10**6), st.integers(1, ITERATIONS - 1), st.integers(30, 150))
@settings(max_examples=30, deadline=None)
def test_a_resumed_monitor_says_the_same(seed, cut, start):
    """Through JSON, as a resumed run reads its own file."""
    found = noisy(seed, 0.3, collapse(start))
    whole = warnings_of(found)
    again = EchoTrapMonitor(MonitorSettings())
    for text in [json.dumps(one) for one in found[:cut]]:
        again.take(json.loads(text))
    rest = [warning for one in found[cut:] for warning in again.take(one)]
    assert rest == [warning for warning in whole if warning.iteration >= cut]


def test_figures_that_are_missing_or_no_numbers():
    found = list(noisy(0, 0, collapse(60)))
    for number in range(0, ITERATIONS, 7):
        del found[number]["policy/entropy"], found[number]["policy/grad_norm"]
        found[number]["rollout/reward_deviation"] = math.nan
    assert kinds(found)[0][0] == "early"
    assert "confirmed" in dict(kinds(found))
    broken = [line(n, 0.5, 0.4 if n < 60 else 0.1, 1, 1) for n in range(90)]
    assert [kind for kind, _ in kinds(broken)] == ["early"]
    for one in broken[60:]:
        del one["policy/grad_norm"]
        one["policy/skipped_steps"] = 2
    assert [kind for kind, _ in kinds(broken)] == ["early", "confirmed"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"window": 0}, "monitor.window: is at least 1, got 0"),
        ({"patience": 0}, "monitor.patience: is at least 1, got 0"),
        ({"warm_up": -1}, "monitor.warm_up: is at least 0, got -1"),
        ({"fall": 1}, "monitor.fall: is above 0 and below 1, got 1.0"),
        ({"gradient": 1}, "monitor.gradient: is above 1, got 1.0"),
        ({"action": "sing"}, "monitor.action: Input should be 'none', 'stop' or 'adapt'"),
        ({"temperature_factor": 0.9}, "temperature_factor: is at least 1 and finite"),
        ({"temperature_factor": math.inf}, "temperature_factor: is at least 1 and finite"),
        ({"temperature_limit": 0}, "temperature_limit: is above 0 and finite, got 0.0"),
        ({"action": "adapt", "temperature_limit": 1}, "adapt has nothing to change; raise"),
        ({"action": "adapt", "temperature_factor": 1}, "adapt has nothing to change; raise"),
        ({"refills": 2}, "monitor.refills: it has no effect with monitor.action=none; set"),
        ({"refills": -1}, "monitor.refills: is at least 0, got -1"),
        ({"windw": 1}, "monitor.windw: there is no such setting; did you mean monitor.window?"),
    ],
)
def test_bad_settings(setting, said):
    with pytest.raises(UserError) as refused:
        recipe_of({"model": "m", "envs": ["Bandit-v0"], "monitor": setting}, "a test")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
