"""What thoughts tell of their contexts, on policies whose probabilities are known."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.diagnostics.thoughts import measure_information

CHANNEL = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
"""Of three contexts and four thoughts."""


def figures(counts):
    """Return the figures of a policy's thoughts: how often each occurs after each context.

    The policy is the one that samples them so often: count / (counts of the context).
    """
    table = torch.tensor(counts, dtype=torch.float64)
    policy = table / table.sum(1, keepdim=True)
    pairs = [
        (context, thought)
        for context, row in enumerate(counts)
        for thought, times in enumerate(row)
        for _ in range(times)
    ]
    own, thoughts = torch.tensor(pairs).T
    return measure_information(policy.T[thoughts].log(), own, torch.ones(len(pairs)))


def entropy(parts):
    """Return the entropy of shares that sum to 1, term by term."""
    return -sum(part * math.log(part) for part in parts if part)


def exact(counts):
    """Return I(X; Z), H(Z|X), H(Z) and H(X) of a table, by their definitions."""
    total = sum(map(sum, counts))
    given_context = sum(
        sum(row) / total * entropy([times / sum(row) for times in row]) for row in counts
    )
    of_thoughts = entropy([sum(column) / total for column in zip(*counts, strict=True)])
    of_contexts = entropy([sum(row) / total for row in counts])
    joint = entropy([times / total for row in counts for times in row])
    return of_contexts + of_thoughts - joint, given_context, of_thoughts, of_contexts


@st.composite
def tables(draw):
    """How often each thought occurs after each context; no context is without one."""
    width = draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 4), min_size=width, max_size=width)
    return draw(st.lists(row.filter(any), min_size=1, max_size=5))


@given(tables())
def test_the_estimate_of_exact_frequencies_is_the_exact_value(counts):
    told = figures(counts)
    names = ("mutual_information", "conditional_entropy", "entropy", "context_entropy")
    assert [told[name] for name in names] == pytest.approx(exact(counts), abs=1e-12)
    share = told.get("information_share")
    of_contexts = exact(counts)[3]
    assert share == (pytest.approx(exact(counts)[0] / of_contexts) if of_contexts else None)
    # Of one token, a thought's mean over tokens is its sum.
    assert told["token_mutual_information"] == pytest.approx(exact(counts)[0], abs=1e-12)


def test_the_estimate_of_sampled_thoughts_is_near_the_exact_value():
    noise = torch.Generator().manual_seed(0)
    own = torch.arange(3).repeat_interleave(2000)
    thoughts = torch.multinomial(CHANNEL[own], 1, generator=noise).squeeze(1)
    told = measure_information(CHANNEL.T[thoughts].log(), own, torch.ones(len(own)))
    information, given_context, of_thoughts, _ = exact((CHANNEL * 100).tolist())
    assert information == pytest.approx(0.1886, abs=1e-4)
    # The deviation of a term is 0.6, so that of a mean of 6000 is below 0.008.
    assert told["mutual_information"] == pytest.approx(information, abs=0.03)
    assert told["conditional_entropy"] == pytest.approx(given_context, abs=0.03)
    assert told["entropy"] == pytest.approx(of_thoughts, abs=0.03)


@st.composite
def scored(draw):
    """Log-probabilities of any size, and an own context of each thought; none is without."""
    contexts = draw(st.integers(1, 5))
    more = draw(st.lists(st.integers(0, contexts - 1), max_size=6))
    own = torch.tensor(draw(st.permutations([*range(contexts), *more])))
    noise = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scale = draw(st.sampled_from([0.01, 1.0, 30.0, 1000.0]))
    scores = -scale * torch.rand(len(own), contexts, generator=noise, dtype=torch.float64)
    tokens = torch.randint(1, 50, (len(own),), generator=noise)
    return scores, own, tokens


@given(scored())
def test_bounds(given_scores):
    told = measure_information(*given_scores)
    most = told["context_entropy"] + 1e-9
    assert told["mutual_information"] <= most
    assert told["token_mutual_information"] <= most
    assert most <= math.log(given_scores[0].shape[1]) + 2e-9
    assert 0 <= told["retrieval"] <= 1
    sum_of_both = told["mutual_information"] + told["conditional_entropy"]
    assert told["entropy"] == pytest.approx(sum_of_both, rel=1e-9, abs=1e-9)


@given(scored(), st.randoms(use_true_random=False))
def test_the_order_of_thoughts_and_contexts_changes_nothing(given_scores, order):
    scores, own, tokens = given_scores
    rows, columns = (torch.tensor(order.sample(range(size), size)) for size in scores.shape)
    moved = torch.argsort(columns)[own[rows]]
    told = measure_information(scores[rows][:, columns], moved, tokens[rows])
    assert told == pytest.approx(measure_information(*given_scores), rel=1e-9, abs=1e-9)


@given(scored())
def test_thoughts_that_do_not_depend_on_contexts_tell_nothing_of_them(given_scores):
    scores, own, tokens = given_scores
    told = measure_information(scores[:, :1].expand_as(scores), own, tokens)
    assert told["mutual_information"] == pytest.approx(0, abs=1e-9)
    assert told["token_mutual_information"] == pytest.approx(0, abs=1e-9)
    assert told["retrieval"] == pytest.approx(told["retrieval_chance"], abs=1e-12)
    assert told["retrieval_chance"] == 1 / scores.shape[1]


def test_thoughts_that_name_their_contexts_tell_all():
    told = figures([[2, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert told["mutual_information"] == pytest.approx(entropy([0.5, 0.25, 0.25]))
    assert (told["retrieval"], told["conditional_entropy"]) == (1, 0)


def test_retrieval_is_by_the_likeliest_context():
    scores = torch.tensor([[-1.0, -2.0], [-1.0, -2.0], [-3.0, -3.0]])
    told = measure_information(scores, torch.tensor([0, 1, 1]), torch.tensor([1, 1, 1]))
    assert told["retrieval"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_by_the_geometric_mean_long_thoughts_are_as_short_ones():
    scores, own = torch.tensor([[-1.0, -3.0], [-2.0, -1.0]]), torch.tensor([0, 1])
    short = measure_information(scores, own, torch.tensor([1, 1]))
    long = measure_information(7 * scores, own, torch.tensor([7, 7]))
    assert long["token_mutual_information"] == pytest.approx(short["mutual_information"])
    assert long["mutual_information"] > short["mutual_information"]
