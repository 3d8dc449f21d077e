"""Advantages of turns and mixtures, against slow loops, and every estimator under `torch.vmap`."""

import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.advantages import (
    find_turn_ends,
    hybrid,
    place_on_last_token,
    place_on_turn_ends,
    token_gae,
)
from ragen_starpo.algorithms.group_advantages import (
    gigpo,
    grpo,
    reinforce_plus_plus_baseline,
    turn_grpo,
)
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.recipes.sections import AdvantageSettings
from tests.ragen_starpo.algorithms.batches import batches

pytestmark = pytest.mark.slow

fractions = st.floats(0, 1)
# Returns that are discounted by less differ by so little that rounding decides who is above whom.
discounts = st.sampled_from((0.0, 0.5, 0.75, 0.9, 1.0))
EPS = 1e-6


@st.composite
def grouped(draw):
    """Return the inputs of estimators by name, for rollouts in groups that share few states."""
    mask, turns, _, values = draw(batches())
    rows, width = len(mask), int(turns.max()) + 1
    counts = [int(turns[row][mask[row] == 1].max()) + 1 for row in range(rows)]
    groups = draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    reward = st.sampled_from([-0.1, 0.0, 1.0, 2.5])
    rewards = [draw(st.lists(reward, min_size=count, max_size=count)) for count in counts]
    kind = st.integers(0, 2)
    states = [draw(st.lists(kind, min_size=count, max_size=count)) for count in counts]
    turn_rewards = torch.zeros(rows, width, dtype=torch.float64)
    numbers = torch.full((rows, width), -1)
    for row, count in enumerate(counts):
        turn_rewards[row, :count] = torch.tensor(rewards[row])
        numbers[row, :count] = torch.tensor(states[row]) + 3 * groups[row]
    return {
        "mask": mask,
        "turns": turns,
        "values": values,
        "turn_rewards": turn_rewards,
        "states": numbers,
        "scores": turn_rewards.sum(1),
        "groups": torch.tensor(groups) * 7 - 3,
        "ends": find_turn_ends(turns, mask),
        "rewards": place_on_turn_ends(turn_rewards, turns, mask),
    }


def of(inputs, *names):
    return {name: inputs[name] for name in names}


def compare(values, key, normalize_std):
    """Return each value relative to those of an equal key, 0 alone, and 0 for equal values."""
    found = {}
    for place, value in values.items():
        others = [other for there, other in values.items() if key[there] == key[place]]
        differ = len(others) > 1 and max(others) - min(others) > 1e-5
        std = statistics.stdev(others) + EPS if differ and normalize_std else 1.0
        found[place] = (value - statistics.fmean(others)) / std if differ else 0.0
    return found


def spread(inputs, whole, steps):
    """Add the advantages of trajectories and of turns, on sampled tokens."""
    mask, turns = inputs["mask"], inputs["turns"].tolist()
    found = torch.zeros(mask.shape, dtype=torch.float64)
    for row, token in mask.nonzero().tolist():
        found[row, token] = whole[row, token] + steps.get((row, turns[row][token]), 0.0)
    return found


def turns_of(inputs):
    return [tuple(place) for place in (inputs["states"] >= 0).nonzero().tolist()]


WHOLE = ("scores", "groups", "mask")
TURNS = (*WHOLE, "turns", "turn_rewards")


@given(grouped(), discounts, st.floats(0, 2), st.booleans())
def test_gigpo_compares_returns_from_equal_states(inputs, gamma_turn, weight, normalize_std):
    rewards, places = inputs["turn_rewards"].tolist(), turns_of(inputs)
    returns = {
        (row, turn): sum(
            gamma_turn ** (later - turn) * rewards[row][later]
            for later in range(turn, len(rewards[row]))
        )
        for row, turn in places
    }
    states = {place: int(inputs["states"][place]) for place in places}
    steps = compare(returns, states, normalize_std)
    whole = grpo(**of(inputs, *WHOLE), normalize_std=normalize_std)
    wanted = spread(inputs, whole, {place: weight * step for place, step in steps.items()})
    found = gigpo(
        **of(inputs, *TURNS, "states"),
        gamma_turn=gamma_turn,
        step_weight=weight,
        normalize_std=normalize_std,
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_gigpo_by_hand():
    """Two rollouts meet in state 5, at different turns; one of them goes on to win."""
    found = gigpo(
        scores=torch.tensor([1.0, 0.0]),
        groups=torch.tensor([4, 4]),
        mask=torch.tensor([[1, 0, 1], [1, 1, 1]]),
        turns=torch.tensor([[0, 1, 1], [0, 1, 2]]),
        turn_rewards=torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
        states=torch.tensor([[3, 5, -1], [3, 4, 5]]),
        gamma_turn=0.5,
        normalize_std=False,
    )
    # Whole returns give 0.5 and -0.5; state 3 has 0.5 and 0, state 5 has 1 and 0.
    assert found.tolist() == [[0.75, 0.0, 1.0], [-0.75, -0.5, -1.0]]


@given(grouped(), st.floats(0, 2), st.booleans())
def test_turn_grpo_compares_rewards_of_the_same_turn(inputs, weight, normalize_std):
    places = turns_of(inputs)
    last = {row: max(turn for there, turn in places if there == row) for row, _ in places}
    before = [place for place in places if place[1] < last[place[0]]]
    rewards = {place: float(inputs["turn_rewards"][place]) for place in before}
    keys = {(row, turn): (int(inputs["groups"][row]), turn) for row, turn in before}
    steps = compare(rewards, keys, normalize_std)
    whole = grpo(**of(inputs, *WHOLE), normalize_std=normalize_std)
    wanted = spread(inputs, whole, {place: weight * step for place, step in steps.items()})
    found = turn_grpo(**of(inputs, *TURNS), turn_weight=weight, normalize_std=normalize_std)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@given(grouped(), fractions, fractions)
def test_a_hybrid_of_one_part_is_that_part(inputs, gamma, lam):
    critic = token_gae(**of(inputs, "rewards", "values", "mask"), gamma=gamma, lam=lam)
    mixed = of(inputs, "rewards", "values", *WHOLE)
    for found, wanted in zip(
        hybrid(**mixed, gamma=gamma, lam=lam, group_weight=0.0), critic, strict=True
    ):
        torch.testing.assert_close(found, wanted)
    advantages, returns = hybrid(**mixed, gamma=gamma, lam=lam, group_weight=1.0)
    torch.testing.assert_close(advantages, reinforce_plus_plus_baseline(**of(inputs, *WHOLE)))
    torch.testing.assert_close(returns, critic[1])


@given(grouped(), fractions)
def test_a_hybrid_subtracts_a_mixed_baseline_before_whitening(inputs, weight):
    """At gamma and lambda 1, and a return on the last token."""
    mask, scores, groups = (inputs[name] for name in ("mask", "scores", "groups"))
    rewards = place_on_last_token(scores, mask)
    found, _ = hybrid(rewards, inputs["values"], mask, scores, groups, group_weight=weight)
    wanted = []
    places = mask.nonzero().tolist()
    for row, token in places:
        others = scores[groups == groups[row]]
        mean = float(others.mean()) if len(others) > 1 else 0.0
        baseline = (1 - weight) * float(inputs["values"][row, token]) + weight * mean
        wanted.append(float(scores[row]) - baseline)
    centered = [value - statistics.fmean(wanted) for value in wanted]
    scale = (statistics.variance(wanted) + 1e-8) ** -0.5 if len(wanted) > 1 else 1.0
    on_tokens = [float(found[row, token]) for row, token in places]
    assert on_tokens == pytest.approx([scale * value for value in centered], abs=1e-6)


@pytest.mark.parametrize("name", ESTIMATORS.names())
def test_seeds_do_not_mix_under_vmap(name):
    """Of three seeds side by side, each has the advantages that it has alone."""
    estimator = ESTIMATORS.find(name)
    settings = AdvantageSettings(name, estimator.credit or "trajectory")
    noise = torch.Generator().manual_seed(1)
    seeds, rows, tokens = 3, 6, 9
    turns = (torch.arange(tokens) // 3).expand(seeds, rows, tokens).clone()
    mask = (torch.rand(turns.shape, generator=noise) < 0.7).long()
    mask[..., ::3] = 1  # each turn samples a token
    turn_rewards = torch.randint(0, 3, (seeds, rows, 3), generator=noise).double()
    groups = (torch.arange(rows) // 3).expand(seeds, rows) + torch.arange(seeds)[:, None] * 2
    columns = {
        "mask": mask,
        "turns": turns,
        "turn_rewards": turn_rewards,
        "states": torch.randint(0, 3, (seeds, rows, 3), generator=noise) + 3 * groups[..., None],
        "scores": turn_rewards.sum(-1),
        "groups": groups,
        "values": torch.randn(turns.shape, generator=noise, dtype=torch.float64),
    }

    def run(inputs):
        ends = find_turn_ends(inputs["turns"], inputs["mask"])
        rewards = place_on_turn_ends(inputs["turn_rewards"], inputs["turns"], inputs["mask"])
        result = estimator(settings, **inputs, ends=ends, rewards=rewards)
        return result[0] if isinstance(result, tuple) else result

    together = torch.vmap(run)(columns)
    assert float(together.abs().max()) > 0.1
    for seed in range(seeds):
        alone = run({name: column[seed] for name, column in columns.items()})
        torch.testing.assert_close(together[seed], alone)


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_weights_have_bounds(bad):
    with pytest.raises(ValueError, match=r"settings\.group_weight: Input should be"):
        AdvantageSettings("hybrid", settings={"group_weight": bad})
    with pytest.raises(ValueError, match=r"settings\.step_weight: Input should be"):
        AdvantageSettings("gigpo", "turn", settings={"step_weight": -abs(bad)})
