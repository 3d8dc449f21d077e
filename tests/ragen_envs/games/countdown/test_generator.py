from collections import Counter
from functools import cache
from itertools import islice

import pytest

from ragen_envs.core.instances import RandomStream, draw, held_out
from ragen_envs.games.countdown.env import VARIANTS
from ragen_envs.games.countdown.generator import Deal, Generator
from ragen_envs.games.countdown.solver import count_solutions
from tests.ragen_envs.games.countdown import reference
from tests.ragen_envs.support import blocks, make

SIZES = {"Countdown-v0": 4, "CountdownLarge-v0": 6}
SEEDS = {4: 400, 6: 100}


@cache
def shipped(name, split):
    return [
        (tuple(map(int, row.split())), int(figures["target"]), int(figures["solutions"]))
        for figures, [row] in blocks("countdown/deals", f"{name}-{split}.txt")
    ]


@cache
def train(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


def check(numbers, target, known):
    """Check what holds of every deal without the package."""
    assert list(numbers) == sorted(numbers)
    if len(numbers) == 4:
        assert len(set(numbers)) == 4
        assert set(numbers) <= set(range(1, 26))
        assert 10 <= target <= 99
        assert 1 <= known <= 20
    else:
        assert len(numbers) == 6
        dealt = Counter(numbers)
        assert all(dealt[n] <= (2 if n <= 10 else 1) for n in dealt)
        assert set(numbers) <= {*range(1, 11), 25, 50, 75, 100}
        assert 100 <= target <= 999
        assert 1 <= known <= 200


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", SIZES)
def test_held_out_deals_are_as_they_should_be(name, split):
    for numbers, target, known in shipped(name, split):
        check(numbers, target, known)


def test_held_out_solutions_are_those_of_the_brute_force():
    for numbers, target, known in shipped("Countdown-v0", "test")[::8]:
        one, two, three, four = reference.solutions(numbers, target)
        assert (one, two) == (0, 0)
        assert three + four == known


def test_no_solution_of_six_tiles_has_fewer_than_four():
    for numbers, target, known in shipped("CountdownLarge-v0", "test")[::32]:
        assert reference.solutions(numbers[:4], target)[:3] == (0, 0, 0)
        counts = list(count_solutions(numbers, target))
        assert sum(counts[:3]) == 0
        assert sum(counts) == known


@pytest.mark.parametrize("name", SIZES)
def test_no_set_of_numbers_is_in_two_splits(name):
    held = {split: shipped(name, split) for split in ("val", "test")}
    sets = {split: {numbers for numbers, *_ in deals} for split, deals in held.items()}
    assert not sets["val"] & sets["test"]
    assert all(len({deal[:2] for deal in deals}) == 256 for deals in held.values())
    seeds = SEEDS[SIZES[name]]
    deals = [train(name, seed) for seed in range(seeds)]
    assert not {deal.numbers for deal in deals} & (sets["val"] | sets["test"])
    assert {deal.part for deal in deals} == {"train"}
    assert len({deal.digest for deal in deals}) > 0.9 * seeds
    for deal in deals:
        check(deal.numbers, deal.target, deal.solutions)


def test_targets_do_not_decide_the_split_and_count_for_the_digest():
    deals = [Deal((1, 2, 3, 4), target, 1) for target in range(10, 100)]
    assert len({deal.part for deal in deals}) == 1
    assert len({deal.digest for deal in deals}) == 90


@pytest.mark.parametrize("name", ["Countdown-v0"])
def test_any_key_seals_as_many_deals_as_are_needed(name):
    env = make(name)
    for key in ("a", "b"):
        deals = held_out(env.generate_instances, name, "sealed", set(), key)
        assert len({deal.digest for deal in deals}) == 256
        assert {deal.part for deal in deals} == {"sealed"}


def test_a_generator_is_a_function_of_its_stream():
    def first(*labels):
        return list(islice(Generator()(RandomStream(*labels)), 50))

    assert first("a") == first("a") != first("b")


def test_a_generator_gives_what_it_is_asked_for():
    asked = Generator((2, 3, 5, 7, 11), 3, 20, 30, fewest_used=2, max_solutions=2)
    found = [deal for deal in islice(asked(RandomStream("a")), 300) if deal]
    assert len(found) > 20
    for deal in found:
        one, two, three = reference.solutions(deal.numbers, deal.target)
        assert one == 0
        assert 1 <= two + three == deal.solutions <= 2
        assert 20 <= deal.target <= 30


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"count": 2}, "count goes from 3 to 6 of the tiles, got 2"),
        ({"count": 7}, "count goes from 3 to 6 of the tiles, got 7"),
        ({"tiles": (1, 2, 3)}, "count goes from 3 to 6 of the tiles, got 4"),
        ({"tiles": (0, 1, 2, 3)}, "tiles and targets are at least 1, and min_target at most"),
        ({"min_target": 0}, "tiles and targets are at least 1, and min_target at most"),
        ({"max_target": 9}, "tiles and targets are at least 1, and min_target at most"),
        ({"fewest_used": 5}, "fewest_used goes from 1 to 4 and max_solutions from 1, got 5 and 20"),
        ({"max_solutions": 0}, "fewest_used goes from 1 to 4 and max_solutions from 1, got 3"),
    ],
)
def test_deals_that_there_are_not_are_refused(options, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        Generator(**options)
