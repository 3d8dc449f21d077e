"""How much thoughts tell of their contexts: mutual information, entropies and retrieval (RAGEN-2).

RAGEN-2 (arXiv 2604.06268) calls it template collapse when thoughts differ as much as ever, so that
their entropy stays, but no longer depend on what the model has read.
"""

from __future__ import annotations

import torch
from torch import Tensor


def information_figures(scores: Tensor, own: Tensor, tokens: Tensor) -> dict[str, float]:
    """Return what thoughts tell of the contexts that they were sampled in.

    X is a context, each as likely as its share of the thoughts, and Z a thought. The probability of
    a thought is that of all of its tokens, as in the paper's definition: so the estimate is one of
    I(X; Z), is right in expectation if the thoughts were sampled by the policy that scores them,
    and is at most H(X), and that at most the logarithm of the number of contexts. By chance it may
    be a little below 0. In place of that probability the paper's code also takes the geometric mean
    over the tokens, which long thoughts do not bring to the bound as soon; that figure is no
    information of anything.

    Equal contexts are to be merged into one: between them there is nothing to tell apart.

    Args:
        scores: (thoughts, contexts) log-probabilities of the thoughts after the contexts, which
            differ.
        own: (thoughts,) the context that each was sampled in; each context is that of a thought.
        tokens: (thoughts,) how many tokens each has, at least 1.

    Returns:
        In nats a thought: `mutual_information`; `conditional_entropy`, H(Z|X); `entropy`, H(Z),
        which is the sum of both; `context_entropy`, H(X). `information_share`, the first as a
        share of the last: 1 where thoughts tell all of their contexts, however many these are; left
        out where there is one context. `token_mutual_information`, by the geometric mean.
        `retrieval`, the share of thoughts that are likeliest after their own context, where ties
        count in part, and `retrieval_chance`, what it is where thoughts do not depend on contexts.
    """
    exact = scores.double()
    shares = torch.bincount(own, minlength=exact.shape[1]).double() / len(own)
    matched = exact.gather(1, own[:, None]).squeeze(1)
    marginal = _mixed(exact, shares)
    by_token = exact / tokens[:, None]
    token_matched = matched / tokens
    best = (exact == exact.max(1, keepdim=True).values).double()
    hits = best.gather(1, own[:, None]).squeeze(1) / best.sum(1)
    information = float((matched - marginal).mean())
    of_contexts = -float(torch.special.xlogy(shares, shares).sum())
    return {
        "mutual_information": information,
        **({"information_share": information / of_contexts} if of_contexts > 0 else {}),
        "conditional_entropy": -float(matched.mean()),
        "entropy": -float(marginal.mean()),
        "context_entropy": of_contexts,
        "token_mutual_information": float((token_matched - _mixed(by_token, shares)).mean()),
        "retrieval": float(hits.mean()),
        "retrieval_chance": 1 / exact.shape[1],
    }


def _mixed(scores: Tensor, shares: Tensor) -> Tensor:
    """Return the log-probability of each thought in a context drawn by its share, (thoughts,)."""
    return torch.logsumexp(scores + shares.log(), dim=1)
