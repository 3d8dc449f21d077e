"""Buckets of groups, and what is asked of the policy for each."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.diagnostics.gradients import measure_gradients, split_by_std
from ragen_starpo.recipes.sections import LossSettings
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of

LOSS = LossSettings(kl=0.5, entropy=0.25, dual_clip=None)


def batch(*groups, split=False):
    """A batch of groups of returns; each trajectory has two turns of one token."""
    sampled = Sampled((7,), (-1.0,), True)
    played = [
        TokenTrajectory(
            group, (Turn((5,), sampled, float(score)), Turn((6,), sampled, 0.0)), {}, split
        )
        for group, scores in enumerate(groups)
        for score in scores
    ]
    return batch_of(played, 0)


@pytest.mark.parametrize("split", [False, True])
def test_groups_that_vary_least_come_first(split):
    made = batch([0, 2], [1, 1], [0, 8], [3, 4], split=split)
    divided = split_by_std(made, 2)
    groups = [made.groups[rows].unique().tolist() for rows, _ in divided]
    assert groups == [[1, 3], [0, 2]]
    deviations = [deviation for _, deviation in divided]
    assert deviations == pytest.approx([0.5**0.5 / 2, (2**0.5 + 32**0.5) / 2])
    assert [len(split_by_std(made, count)) for count in (1, 3, 9)] == [1, 3, 4]


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=3), min_size=1, max_size=6),
    st.integers(1, 7),
    st.booleans(),
)
def test_each_row_is_in_one_bucket_with_its_group(groups, buckets, split):
    made = batch(*groups, split=split)
    divided = split_by_std(made, buckets)
    rows = torch.cat([rows for rows, _ in divided])
    assert sorted(rows.tolist()) == list(range(len(made)))
    members = [set(made.groups[rows].tolist()) for rows, _ in divided]
    assert sum(map(len, members)) == len(groups)
    assert max(map(len, members)) - min(map(len, members)) <= 1
    deviations = [deviation for _, deviation in divided]
    assert deviations == sorted(deviations)


def test_the_parts_of_the_loss_are_apart():
    """By the derivative of the loss along the log-probabilities and entropies of all tokens."""
    made = batch([0, 2], [0, 8])
    mask = made.mask.float()
    columns = {
        "advantages": 3 * mask,
        "old_log_probs": made.log_probs,
        "reference": made.log_probs - 2 * mask,
    }
    asked, steps = [], []

    def norm(some, own, loss):
        log_probs = some.log_probs.clone().requires_grad_()
        entropies = some.mask.float().requires_grad_()
        loss(log_probs, entropies, {**own, "mask": some.mask})[0].backward()
        asked.append(some.groups.tolist())
        bonus = 0 if entropies.grad is None else float(entropies.grad.sum())
        steps.append((float(log_probs.grad.sum()), bonus))
        return float(len(steps))

    figures = measure_gradients(LOSS, 2, made, made.mask, columns, norm)
    assert asked == [[0, 0]] * 2 + [[1, 1]] * 2
    # Weights of a bucket's tokens sum to 1: it is a mini-batch of its own.
    task, rest = (-3, 0), (0.5 * 2, -0.25)
    assert steps == [pytest.approx(step) for step in (task, rest, task, rest)]
    assert figures == {
        "gradients/1/deviation": pytest.approx(2**0.5),
        "gradients/1/task": 1,
        "gradients/1/regularisation": 2,
        "gradients/2/deviation": pytest.approx(32**0.5),
        "gradients/2/task": 3,
        "gradients/2/regularisation": 4,
    }
    none = measure_gradients(replace(LOSS, kl=0.0, entropy=0.0), 1, made, made.mask, columns, norm)
    assert (none["gradients/1/regularisation"], len(steps)) == (0, 5)


@pytest.mark.parametrize("broken", [math.inf, math.nan])
def test_norms_that_are_not_finite_are_left_out(broken):
    made = batch([0, 2], [0, 8])
    norms = iter([broken, 1.0, 2.0, broken])
    columns = {"advantages": made.mask.float()}
    figures = measure_gradients(LOSS, 2, made, made.mask, columns, lambda *_: next(norms))
    names = {name.removeprefix("gradients/") for name in figures}
    assert names == {"1/deviation", "1/regularisation", "2/deviation", "2/task"}
