"""Which groups are kept, against sorting by hand."""

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.registry import FILTERS
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.selection import select_groups
from tests.ragen_starpo.algorithms.batches import scored_groups

STRATEGIES = FILTERS.names()
amounts = st.floats(0.01, 1)


def deviations_of(scores, groups):
    of_group = {}
    for score, group in zip(scores.tolist(), groups.tolist(), strict=True):
        of_group.setdefault(group, []).append(score)
    return {
        group: statistics.stdev(found) if len(found) > 1 else 0.0
        for group, found in of_group.items()
    }


def kept_groups(settings, scores, groups):
    kept = select_groups(settings, scores, groups)
    found = set(groups[kept].tolist())
    assert not found & set(groups[~kept].tolist())  # groups are kept as a whole
    return found


@given(scored_groups(), st.sampled_from(STRATEGIES), amounts, st.sampled_from([0.0, 0.01, 0.5]))
def test_properties_of_all(scored, strategy, amount, eps):
    scores, groups = scored
    deviations = deviations_of(scores, groups)
    kept = kept_groups(FilterSettings(strategy, amount, eps), scores, groups)
    if strategy == "all":
        assert kept == set(deviations)
        return
    assert all(deviations[group] > eps - 1e-9 for group in kept)
    worst = min((deviations[group] for group in kept), default=math.inf)
    lost = [deviations[group] for group in deviations if group not in kept]
    assert all(deviation <= worst + 1e-6 for deviation in lost)
    if max(deviations.values()) > eps + 1e-6:
        assert kept


@given(scored_groups(ties=False), amounts)
def test_top_k(scored, amount):
    scores, groups = scored
    deviations = deviations_of(scores, groups)
    kept = kept_groups(FilterSettings("top-k", amount), scores, groups)
    positive = sum(deviation > 1e-6 for deviation in deviations.values())
    assert len(kept) == min(positive, math.ceil(amount * len(deviations) - 1e-9))


def five(*deviations):
    """Groups of two whose returns have these deviations."""
    scores = [score for d in deviations for score in (0.0, d * math.sqrt(2))]
    groups = [group for group in range(len(deviations)) for _ in range(2)]
    return torch.tensor(scores, dtype=torch.float64), torch.tensor(groups)


@pytest.mark.parametrize(
    ("strategy", "amount", "eps", "kept"),
    [
        ("top-k", 0.25, 0.0, {0, 3}),
        ("top-k", 0.2, 0.0, {3}),
        ("top-k", 1.0, 0.0, {0, 1, 3, 4}),
        # Variances 1, 0.25, 0, 4, 0.75: of the sum 6, 4 is 0.667, 5 is 0.833, 5.75 is 0.958.
        ("top-p", 0.66, 0.0, {3}),
        ("top-p", 0.7, 0.0, {0, 3}),
        ("top-p", 0.9, 0.0, {0, 3, 4}),
        ("top-p", 1.0, 0.0, {0, 1, 3, 4}),
        ("top-p", 1.0, 0.6, {0, 3, 4}),
        # Of the exponentials e^4, e^1, e^.75, e^.25: 0.898, 0.943, 0.979, 1.
        ("top-p-softmax", 0.89, 0.0, {3}),
        ("top-p-softmax", 0.9, 0.0, {0, 3}),
        ("top-p-softmax", 0.95, 0.0, {0, 3, 4}),
        ("min-p", 0.25, 0.0, {0, 3}),
        ("min-p", 0.26, 0.0, {3}),
        ("min-p", 0.06, 0.0, {0, 1, 3, 4}),
        ("all", 0.1, 9.0, {0, 1, 2, 3, 4}),
    ],
)
def test_by_hand(strategy, amount, eps, kept):
    scores, groups = five(1.0, 0.5, 0.0, 2.0, math.sqrt(0.75))
    assert kept_groups(FilterSettings(strategy, amount, eps), scores, groups) == kept


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("strategy", STRATEGIES[1:])
def test_rounding_is_no_deviation(kind, strategy):
    """Of the returns that games have, in groups of every size."""
    for size in range(2, 33):
        returns = torch.tensor([tenths / 10 for tenths in range(-200, 201)], dtype=kind)
        groups = torch.arange(len(returns)).repeat_interleave(size)
        settings = FilterSettings(strategy, 1.0, 0.0)
        assert not select_groups(settings, returns.repeat_interleave(size), groups).any()


def test_a_last_bit_is_no_deviation():
    scores = torch.tensor([10.8, 10.8, 10.8, 10.8])
    scores[0] = torch.nextafter(scores[0], torch.tensor(11.0))
    groups = torch.zeros(4, dtype=torch.int64)
    assert not select_groups(FilterSettings("top-k", 1.0, 0.0), scores, groups).any()
    scores[0] = 10.801
    assert select_groups(FilterSettings("top-k", 1.0, 0.0), scores, groups).all()


@pytest.mark.parametrize("strategy", STRATEGIES[1:])
def test_nothing_left(strategy):
    scores, groups = five(0.0, 0.0)
    assert not select_groups(FilterSettings(strategy, 1.0), scores, groups).any()


def test_ties_go_to_the_first():
    """In a batch so large that a sort that is not stable would mix them."""
    scores, groups = five(*[1.0] * 4096)
    assert kept_groups(FilterSettings("top-k", 0.5), scores, groups) == set(range(2048))


def test_a_share_that_is_just_reached_is_enough():
    # The least share of one more makes it two.
    for amount, kept in ((0.25, {0}), (0.2501, {0, 1}), (0.5, {0, 1})):
        assert kept_groups(FilterSettings("top-p", amount), *five(1.0, 1.0, 1.0, 1.0)) == kept


def test_a_deviation_of_eps_is_dropped():
    scores, groups = torch.tensor([0.0, 2.0, 0.0, 4.0]), torch.tensor([0, 0, 1, 1])
    eps = float(scores[:2].double().std())
    for strategy in STRATEGIES[1:]:
        assert kept_groups(FilterSettings(strategy, 1.0, eps), scores, groups) == {1}
    # Its variance is left out of the sum: 18 of 26 are enough, and of 46 they would not be.
    tops = [6.0, 4.0, *[2.0] * 10]
    scores = torch.tensor([score for top in tops for score in (0.0, top)])
    groups = torch.arange(len(tops)).repeat_interleave(2)
    assert kept_groups(FilterSettings("top-p", 0.6, eps), scores, groups) == {0}


@pytest.mark.parametrize("bad", [{"strategy": "top"}, {"amount": 0}, {"amount": 1.1}, {"eps": -1}])
def test_bad_filters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        FilterSettings(**bad)


def as_released(settings, values):
    """What RAGEN-2's released code keeps of positive scores, by its description."""
    sign = 1 if settings.keep == "largest" else -1
    order = sorted(range(len(values)), key=lambda n: -sign * values[n])
    if settings.strategy == "top-k":
        return set(order[: settings.groups])
    if settings.strategy == "min-p":
        best = values[order[0]]
        return {
            n
            for n in order
            if (
                values[n] >= best * settings.amount
                if sign == 1
                else values[n] <= best / settings.amount
            )
        }
    masses = values
    if settings.strategy == "top-p-softmax":
        total = sum(math.exp(sign * value) for value in values)
        masses = [math.exp(sign * value) / total for value in values]
    kept, reached = set(), 0.0
    for n in order:
        if reached >= settings.amount * sum(masses) - settings.slack:
            break
        kept.add(n)
        reached += masses[n]
    return kept


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=12, unique=True),
    st.sampled_from(["top-k", "top-p", "top-p-softmax", "min-p"]),
    st.sampled_from(["largest", "smallest"]),
    st.sampled_from([0.137, 0.5211, 0.8713, 0.953]),
    st.sampled_from([0.0, 0.01, 0.5]),
    st.integers(1, 9),
)
def test_by_deviation_as_the_released_code(hundredths, strategy, keep, amount, slack, most):
    values = [number / 100 for number in hundredths]
    settings = FilterSettings(
        strategy,
        amount,
        0.0,
        most if strategy == "top-k" else None,
        "deviation",
        keep,
        slack if strategy == "top-p" else 0.0,
    )
    assert kept_groups(settings, *five(*values)) == as_released(settings, values)


def test_a_softmax_of_deviations_keeps_more_than_one_of_variances():
    values = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    counts = {
        score: len(kept_groups(FilterSettings("top-p-softmax", 0.9, score=score), *five(*values)))
        for score in ("deviation", "variance")
    }
    assert counts == {"deviation": 5, "variance": 1}


@pytest.mark.parametrize(("keep", "first"), [("largest", {0, 2}), ("smallest", {1, 3})])
def test_by_what_is_measured(keep, first):
    scores, groups = five(1.0, 2.0, 0.1, 0.2, 0.0)
    measured = torch.tensor([9.0, 7, 1, 1, 5, 5, 2, 2, 99, 0])  # the last group does not differ
    settings = FilterSettings("top-k", groups=2, score="length", keep=keep)
    kept = select_groups(settings, scores, groups, measured)
    assert set(groups[kept].tolist()) == first


def test_scales():
    found = {
        how: FilterSettings(loss_scale=how).advantage_factor(0.25)
        for how in ("none", "sqrt", "linear")
    }
    assert found == {"none": 1.0, "sqrt": 0.5, "linear": 0.25}


@pytest.mark.parametrize("strategy", ["top-p", "min-p"])
def test_rewards_have_no_shares(strategy):
    with pytest.raises(ValueError, match=f"score=reward may be negative, and {strategy} takes"):
        FilterSettings(strategy, score="reward")
