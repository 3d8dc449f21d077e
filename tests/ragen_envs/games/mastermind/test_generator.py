from collections import Counter
from functools import cache
from itertools import islice, pairwise

import pytest

from ragen_envs.core.instances import RandomStream, draw, held_out
from ragen_envs.games.mastermind.env import VARIANTS
from ragen_envs.games.mastermind.rules import Generator, all_codes
from tests.ragen_envs.games.mastermind import reference
from tests.ragen_envs.support import blocks, make

PEGS = {"Mastermind-v0": 3, "MastermindLarge-v0": 4}
ROWS = {3: 3, 4: 2}
LEFT = {3: range(6, 41), 4: range(24, 121)}
SEEDS = 400


@cache
def shipped(name, split):
    found = blocks("mastermind/openings", f"{name}-{split}.txt")
    return [(reference.rows(lines), float(figures["ceiling"])) for figures, lines in found]


@cache
def train(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


def numbers(pegs, rows):
    """Return the numbers of the codes that rows leave."""
    every = {code: i for i, code in enumerate(reference.codes(pegs))}
    return tuple(every[code] for code in reference.possible(pegs, rows))


def check(pegs, rows):
    """Check what holds of every opening without the package."""
    assert len(rows) == ROWS[pegs]
    counts = [len(reference.possible(pegs, rows[:count])) for count in range(len(rows) + 1)]
    assert all(after < before for before, after in pairwise(counts))
    assert counts[-1] in LEFT[pegs]


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", PEGS)
def test_held_out_openings_are_as_they_should_be(name, split):
    for rows, ceiling in shipped(name, split)[:: 1 if PEGS[name] == 3 else 8]:
        check(PEGS[name], rows)
        assert 0.5 < ceiling <= 1


def test_held_out_ceilings_are_those_of_trying_everything():
    """Three pegs, of the openings that leave fewest, as the brute force takes its time."""
    every = tuple(reference.codes(3))
    openings = sorted(shipped("Mastermind-v0", "test"), key=lambda each: len(numbers(3, each[0])))
    for rows, ceiling in openings[:3]:
        left = tuple(reference.possible(3, rows))
        assert ceiling == round(reference.most_found(left, 3, every) / len(left), 9)


@pytest.mark.slow
def test_no_set_of_codes_is_left_in_two_splits():
    """Up to the names of colours and the order of places, by trying all of them."""
    forms = {
        split: [
            reference.canonical(numbers(3, rows), 3) for rows, _ in shipped("Mastermind-v0", split)
        ]
        for split in ("val", "test")
    }
    forms["train"] = [
        reference.canonical(train("Mastermind-v0", seed).secrets, 3) for seed in range(SEEDS)
    ]
    assert not set(forms["val"]) & set(forms["test"])
    assert not set(forms["train"]) & {*forms["val"], *forms["test"]}


@pytest.mark.parametrize("name", PEGS)
def test_no_opening_is_held_out_twice_or_trained_on(name):
    env = make(name)
    held = [opening for split in ("val", "test") for opening in env.load_shipped(name, split)]
    digests = {opening.digest for opening in held}
    assert len(digests) == 512
    openings = [train(name, seed) for seed in range(SEEDS)]
    assert {opening.part for opening in openings} == {"train"}
    assert not digests & {opening.digest for opening in openings}
    assert len({opening.digest for opening in openings}) > SEEDS // 3


@pytest.mark.parametrize("name", PEGS)
def test_train_openings_are_of_all_sizes(name):
    every, sizes = all_codes(PEGS[name]), Counter()
    for seed in range(SEEDS // 4):
        opening = train(name, seed)
        guesses = ["".join("ABCDEF"[c] for c in every.codes[guess]) for guess, _ in opening.rows]
        rows = [(g, every.kinds[kind]) for g, (_, kind) in zip(guesses, opening.rows, strict=True)]
        check(PEGS[name], rows)
        sizes[len(opening.secrets)] += 1
    assert len(sizes) > 8


@pytest.mark.parametrize("name", PEGS)
def test_any_key_seals_as_many_openings_as_are_needed(name):
    env = make(name)
    for key in ("a", "b"):
        openings = held_out(env.generate_instances, name, "sealed", set(), key)
        assert len({opening.digest for opening in openings}) == 256
        assert {opening.part for opening in openings} == {"sealed"}


def test_a_generator_is_a_function_of_its_stream():
    def first(*labels):
        return list(islice(Generator()(RandomStream(*labels)), 50))

    assert first("a") == first("a") != first("b")


@pytest.mark.parametrize(("fewest", "most"), [(1, 9), (9, 8), (0, 0)])
def test_empty_ranges_are_refused(fewest, most):
    said = f"fewest is at least 2 and at most most, got {fewest} and {most}"
    with pytest.raises(ValueError, match=f"^{said}$"):
        Generator(fewest=fewest, most=most)
