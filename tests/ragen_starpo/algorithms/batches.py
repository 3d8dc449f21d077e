"""Random batches of trajectories whose sampled tokens stand between observations."""

import torch
from hypothesis import strategies as st


@st.composite
def batches(draw, min_turns=1):
    """Return mask, turns, rewards and values, (trajectories, tokens); every turn has a token."""
    layouts = draw(
        st.lists(
            st.lists(
                st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=min_turns, max_size=4
            ),
            min_size=1,
            max_size=5,
        )
    )
    seed = draw(st.integers(0, 2**31))
    width = max(sum(map(sum, layout)) for layout in layouts) + draw(st.integers(0, 2))
    mask = torch.zeros(len(layouts), width, dtype=torch.int64)
    turns = torch.zeros(len(layouts), width, dtype=torch.int64)
    for row, layout in enumerate(layouts):
        start = 0
        for turn, (observed, sampled) in enumerate(layout):
            turns[row, start:] = turn
            mask[row, start + observed : start + observed + sampled] = 1
            start += observed + sampled
    noise = torch.Generator().manual_seed(seed)
    values = torch.randn(mask.shape, generator=noise, dtype=torch.float64)
    rewards = torch.randn(mask.shape, generator=noise, dtype=torch.float64) * mask
    return mask, turns, rewards, values


@st.composite
def scored_groups(draw, ties=True):
    """Return scores and groups, (trajectories,), groups in any order and of any size.

    Scores that are not equal are further apart than rounding, which the algorithms take for a tie.
    """
    groups = draw(st.lists(st.integers(-2, 4), min_size=1, max_size=16))
    score = st.integers(-10 * 1024, 10 * 1024).map(lambda steps: steps / 1024)
    if ties:
        score = st.one_of(st.sampled_from([-0.1, 0.0, 1.0]), score)
    scores = draw(st.lists(score, min_size=len(groups), max_size=len(groups)))
    return torch.tensor(scores, dtype=torch.float64), torch.tensor(groups)


@st.composite
def masked_groups(draw):
    """Return scores, groups and a mask, (trajectories, tokens), with a token and gaps in a row."""
    scores, groups = draw(scored_groups())
    noise = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    mask = (torch.rand((len(scores), 6), generator=noise) < 0.5).long()
    mask[torch.arange(len(scores)), torch.randint(0, 6, (len(scores),), generator=noise)] = 1
    return scores, groups, mask
