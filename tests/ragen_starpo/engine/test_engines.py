"""Log-probabilities in pieces of any size, compared with torch's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ragen_starpo.engine.platform import prepare

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engines():
    prepare()
    from ragen_starpo.engine import engines

    return engines


@given(st.integers(1, 9), st.integers(1, 7), st.integers(1, 40), st.integers(0, 2**31))
def test_in_any_pieces(engines, tokens, vocabulary, at_once, seed):
    noise = torch.Generator().manual_seed(seed)
    logits = (10 * torch.randn(tokens, vocabulary, generator=noise)).requires_grad_()
    labels = torch.randint(0, vocabulary, (tokens,), generator=noise)
    expected = torch.log_softmax(logits, -1).gather(-1, labels[:, None])[:, 0]
    (slope,) = torch.autograd.grad(expected.square().sum(), logits)
    before = engines._AT_ONCE
    engines._AT_ONCE = at_once
    try:
        found = engines.compute_log_probs(logits, labels)
    finally:
        engines._AT_ONCE = before
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    (same,) = torch.autograd.grad(found.square().sum(), logits)
    assert_close(same, slope, atol=1e-4, rtol=1e-4)


def test_half_precision_is_normalised_in_full(engines):
    logits = torch.zeros(1, 4096, dtype=torch.bfloat16)
    found = engines.compute_log_probs(logits, torch.tensor([7]))
    assert_close(found, torch.tensor([-8.317766]))
