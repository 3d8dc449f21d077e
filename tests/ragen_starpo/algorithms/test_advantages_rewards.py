"""Where rewards are put, against a loop over the tokens."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.advantages import (
    find_turn_ends,
    place_on_last_token,
    place_on_turn_ends,
)
from tests.ragen_starpo.algorithms.batches import batches


@given(batches())
def test_turn_ends(batch):
    mask, turns, _, _ = batch
    ends = find_turn_ends(turns, mask)
    wanted = set()
    for row in range(len(mask)):
        last = {
            int(turns[row, token]): (row, token)
            for token in range(mask.shape[1])
            if mask[row, token]
        }
        wanted |= set(last.values())
    assert {tuple(place) for place in ends.nonzero().tolist()} == wanted


@given(batches(), st.integers(0, 100))
def test_rewards_are_kept_whole(batch, seed):
    mask, turns, _, _ = batch
    played = int(turns.max()) + 1
    rewards = torch.randn(len(mask), played, generator=torch.Generator().manual_seed(seed))
    placed = place_on_turn_ends(rewards, turns, mask)
    for row in range(len(mask)):
        of_row = sorted(turns[row][mask[row] == 1].unique().tolist())
        assert (
            placed[row][find_turn_ends(turns, mask)[row]].tolist() == rewards[row, of_row].tolist()
        )
    assert not placed[~find_turn_ends(turns, mask)].any()


@given(batches())
def test_the_return_is_on_the_last_token(batch):
    mask, _, _, _ = batch
    scores = torch.arange(1.0, len(mask) + 1)
    placed = place_on_last_token(scores, mask)
    for row in range(len(mask)):
        last = int(mask[row].nonzero().max())
        assert placed[row].nonzero().flatten().tolist() == [last]
        assert placed[row, last] == scores[row]


def test_nothing_sampled():
    nothing = torch.zeros(2, 3, dtype=torch.int64)
    assert not place_on_last_token(torch.ones(2), nothing).any()
    assert not find_turn_ends(nothing, nothing).any()


def test_turns_beyond_the_rewards_are_those_of_no_sampled_token():
    """The tokens after a trajectory's end may belong to a turn that has not been played."""
    rewards = torch.tensor([[1.0, 2.0]])
    turns, mask = torch.tensor([[0, 0, 1, 2]]), torch.tensor([[0, 1, 1, 0]])
    assert place_on_turn_ends(rewards, turns, mask).tolist() == [[0.0, 1.0, 2.0, 0.0]]
    before = torch.tensor([[-1, 0, 1, 1]])
    assert place_on_turn_ends(rewards, before, mask).tolist() == [[0.0, 1.0, 2.0, 0.0]]
