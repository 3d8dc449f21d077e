from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.mastermind.rules import Codes, Generator, all_codes
from ragen_envs.games.mastermind.solver import Solver, ceiling, solver
from tests.cases import examples
from tests.ragen_envs.games.mastermind import reference

SMALL = {size: Solver(Codes(*size)) for size in ((2, 3), (2, 4), (3, 2), (3, 3))}


@settings(max_examples=examples(80))
@given(st.sampled_from(list(SMALL)), st.integers(1, 4), st.data())
def test_the_best_play_is_that_of_the_brute_force(size, guesses, data):
    texts = reference.codes(*size)
    if size == (3, 3):
        guesses = min(guesses, 3)
    chosen = data.draw(st.sets(st.integers(0, len(texts) - 1), min_size=1, max_size=14))
    codes = tuple(sorted(chosen))
    left, every = tuple(texts[i] for i in codes), tuple(texts)
    best = SMALL[size].best(codes, guesses)
    assert best.found == reference.most_found(left, guesses, every)
    assert reference.found(left, texts[best.guess], guesses, every) == best.found


@pytest.mark.parametrize("size", [(2, 3), (2, 4), (3, 2)])
@pytest.mark.parametrize("guesses", [1, 2, 3, 4])
def test_whole_games_are_those_of_the_brute_force(size, guesses):
    every = tuple(reference.codes(*size))
    best = SMALL[size].best(tuple(range(len(every))), guesses)
    assert best.found == reference.most_found(every, guesses, every)
    assert best.found <= bound(SMALL[size], guesses)


def bound(best, guesses):
    """Return a bound on what so many guesses can find: each answer but one leads to other codes."""
    return 1 + (best._kinds - 1) * bound(best, guesses - 1) if guesses else 0


@settings(max_examples=examples(60))
@given(st.sampled_from(list(SMALL)), st.integers(1, 3), st.data())
def test_what_a_guess_leaves_to_find_is_that_of_the_brute_force(size, guesses, data):
    texts = reference.codes(*size)
    if size == (3, 3):
        guesses = min(guesses, 2)
    numbers = st.integers(0, len(texts) - 1)
    codes = tuple(sorted(data.draw(st.sets(numbers, min_size=1, max_size=10))))
    guess = data.draw(numbers)
    wanted = reference.found(tuple(texts[i] for i in codes), texts[guess], guesses, tuple(texts))
    assert SMALL[size].found_after(codes, guess, guesses) == wanted


def wins(pegs, codes, guesses):
    """Return how many of the codes the best player finds, by playing against each."""
    every, best = all_codes(pegs), solver(pegs).best
    won = 0
    for secret in codes:
        left = codes
        for number in range(guesses):
            guess = best(left, guesses - number).guess
            if guess == secret:
                won += 1
                break
            told = every.answers[guess]
            left = tuple(code for code in left if told[code] == told[secret])
    return won


@pytest.mark.parametrize(("pegs", "rows", "guesses"), [(3, 3, 2), (3, 2, 3), (4, 2, 3), (4, 3, 2)])
def test_the_best_player_finds_what_is_stated(pegs, rows, guesses):
    generator = Generator(pegs, rows, 10, 48)
    for seed in range(12):
        opening = draw(generator, RandomStream("played", seed), "train")
        stated = solver(pegs).best(opening.secrets, guesses).found
        assert wins(pegs, opening.secrets, guesses) == stated
        rate = ceiling(opening, Budget(max_turns=guesses, max_actions=guesses))
        assert rate == round(stated / len(opening.secrets), 9)


def test_more_guesses_and_fewer_codes_never_hurt():
    for seed in range(20):
        codes = draw(Generator(3, 2, 8, 40), RandomStream("more", seed), "train").secrets
        found = [solver(3).best(codes, guesses).found for guesses in (1, 2, 3)]
        assert found == sorted(found)
        assert found[-1] <= len(codes)
        assert solver(3).best(codes[1:], 2).found >= found[1] - 1


def knuth(every, codes):
    """Return Knuth's guess: the least largest part, possible codes first, then in order."""
    told = every.answers[:, codes]
    largest = np.max([(told == kind).sum(axis=1) for kind in range(len(every.kinds))], axis=0)
    return min(range(len(largest)), key=lambda guess: (largest[guess], guess not in codes, guess))


def lengths(every, codes, guess, number=1):
    """Yield the number of the guess that finds each code, in Knuth's strategy."""
    parts = {}
    for code in codes:
        parts.setdefault(every.answers[guess, code], []).append(code)
    for kind, part in parts.items():
        if kind == every.win:
            yield number
        else:
            yield from lengths(every, part, knuth(every, part), number + 1)


def test_knuths_strategy_takes_five_guesses_at_most_and_5801_in_all():
    """Knuth 1976, The computer as Master Mind: 1, 6, 62, 533 and 694 codes by 1 to 5 guesses."""
    every = all_codes(4)
    found = Counter(lengths(every, list(range(1296)), every.names.index("A A B B")))
    assert found == {1: 1, 2: 6, 3: 62, 4: 533, 5: 694}
    assert sum(number * count for number, count in found.items()) == 5801
    # No strategy finds more than the bound says; the mean of the best is 5625 / 1296.
    assert all(sum(found[i] for i in range(1, k + 1)) <= bound(solver(4), k) for k in range(1, 6))
