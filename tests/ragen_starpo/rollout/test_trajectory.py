"""Returns of trajectories, and the tensors that are made of them."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.models.hf.sampling import Generation
from ragen_envs.core.instances import RandomStream
from ragen_starpo.rollout.trajectory import (
    Sampled,
    TokenTrajectory,
    Turn,
    batch_of,
    sampled_of,
    scores_of,
)

IDS = st.integers(1, 50)
LOG_PROBS = st.floats(-8, 0, width=32)
TURNS = st.builds(
    lambda observed, sampled, reward: Turn(
        tuple(observed),
        Sampled(*(tuple(column) for column in zip(*sampled, strict=True)), True),
        reward,
    ),
    st.lists(IDS, max_size=3),
    st.lists(st.tuples(IDS, LOG_PROBS), min_size=1, max_size=3),
    st.floats(-2, 2, width=16),
)
PLAYED = st.lists(
    st.builds(
        lambda group, turns, split: TokenTrajectory(group, tuple(turns), {}, split),
        st.integers(-3, 3),
        st.lists(TURNS, max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
"""Trajectories of no turn to three, in one sequence or one each; a prompt that did not fit has no
turn."""


def trajectory(*rewards, group=0):
    turns = tuple(Turn((1, 2), Sampled((3,), (-1.0,), True), reward) for reward in rewards)
    return TokenTrajectory(group, turns, {})


def test_returns_are_equal_whatever_order_their_rewards_come_in():
    rewards = (10.0, -0.1, -0.1, -0.1, 1.0, 0.3)
    found = {trajectory(*order).score for order in itertools.permutations(rewards)}
    assert found == {11.0}
    assert trajectory(0.1, 0.2, -0.3).score == 0.0
    assert trajectory(0.25, 1e-5).score == pytest.approx(0.25001)


def test_scores_are_not_rounded_to_32_bits():
    played = [trajectory(10.8), trajectory(10.7, group=1)]
    for scores in (scores_of(played), batch_of(played, 0).scores):
        assert scores.dtype == torch.float64
        assert scores.tolist() == [10.8, 10.7]


def tokens(trajectory):
    """Return the tokens of each sequence, in order, as id, kind, turn and log-probability."""
    sequences = [[]]
    for number, turn in enumerate(trajectory.turns):
        if trajectory.split and number:
            sequences.append([])
        found = sequences[-1]
        found += [(seen, 0, number, 0.0) for seen in turn.observed]
        said = zip(turn.sampled.ids, turn.sampled.log_probs, strict=True)
        found += [(one, 1, number, log_prob) for one, log_prob in said]
    return sequences


@given(PLAYED, st.integers(60, 70))
def test_a_batch_is_its_sequences_padded_on_the_right(played, pad):
    batch = batch_of(played, pad)
    sequences = [(one, known) for one in played for known in tokens(one)]
    width = max(len(known) for _, known in sequences)
    longest = max(len(one.turns) for one in played)
    assert len(batch) == len(sequences)
    assert batch.count == len(played)
    assert batch.ids.shape == (len(sequences), width)
    for row, (one, known) in enumerate(sequences):
        last = known[-1][2] if known else 0
        rest = width - len(known)
        whole = [(seen, 1, *others) for seen, *others in known] + [(pad, 0, 0, last, 0.0)] * rest
        columns = (batch.ids, batch.attention, batch.mask, batch.turns, batch.log_probs)
        assert list(zip(*(column[row].tolist() for column in columns), strict=True)) == whole
        rewards = [turn.reward for turn in one.turns]
        missing = [0.0] * (longest - len(rewards))
        assert batch.turn_rewards[row].tolist() == rewards + missing
    assert batch.groups.tolist() == [one.group for one, _ in sequences]
    assert batch.scores.tolist() == [one.score for one, _ in sequences]
    owners = [played[number] for number in batch.trajectories]
    assert all(one is owner for one, (owner, _) in zip(owners, sequences, strict=True))


@given(PLAYED, st.data())
def test_rows_are_those_asked_for_in_their_order(played, data):
    batch = batch_of(played, 0)
    kept = data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch)))
    chosen = data.draw(st.permutations([row for row, keep in enumerate(kept) if keep]))
    for asked, rows in (
        (torch.tensor(kept), sorted(chosen)),
        (torch.tensor(chosen).long(), chosen),
    ):
        some = batch.rows(asked)
        assert len(some) == len(rows)
        for name, column in vars(batch).items():
            assert getattr(some, name).tolist() == [column[row].tolist() for row in rows]


@given(PLAYED, st.data())
def test_trajectories_keep_their_sequences_together(played, data):
    order = data.draw(st.permutations(range(len(played))))
    rows = batch_of(played, 0).rows_of(torch.tensor(order))
    lengths = [len(tokens(one)) for one in played]
    starts = [sum(lengths[:number]) for number in range(len(played))]
    assert rows.tolist() == [starts[one] + n for one in order for n in range(lengths[one])]


def test_each_sampled_token_has_a_log_probability():
    with pytest.raises(ValueError, match="2 tokens have 1 log-probabilities"):
        Sampled((1, 2), (-1.0,), True)


def test_an_answer_stopped_or_was_cut(chatml, ending):
    words = tuple(chatml[0].tokenizer("hello there", add_special_tokens=False)["input_ids"])
    for ids, stopped in (((*words, chatml[1]), True), (words, False)):
        log_probs = [-float(number) for number in range(len(ids))]
        answer = Generation([5], RandomStream("sampling"), list(ids), log_probs, [6])
        assert sampled_of(answer, ending) == Sampled(ids, tuple(log_probs), stopped)
