import copy
import pickle
import re
from collections import Counter
from fractions import Fraction
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.mastermind.env import VARIANTS, MastermindVariant
from ragen_envs.games.mastermind.rules import Generator, all_codes
from tests.cases import examples
from tests.ragen_envs.games.mastermind import reference
from tests.ragen_envs.support import blocks, chi_square, make, rare, state_in

PEGS = {"Mastermind-v0": 3, "MastermindLarge-v0": 4}
names = st.sampled_from(list(PEGS))


def started(name, seed, rollout=0, split="val"):
    env = make(name, split=split, response_format="plain", render_mode="ansi")
    env.reset(seed=seed, options={"noise_seed": rollout})
    return env


def read(state):
    """Return the rows of a state's text, as the reference takes them, and the last line's code."""
    head, *lines = state.split("\n")
    assert head == "Guesses so far, with their answers:"
    *lines, last = lines
    ending = re.fullmatch(
        r"(?:You found the code|The code was)((?: [A-F])+)\.", last.replace(":", "")
    )
    if not ending:
        lines.append(last)
    rows = []
    for line in lines:
        found = re.fullmatch(r"((?:[A-F] )*[A-F]): (\d) in place, (\d) elsewhere", line)
        rows.append((found[1].replace(" ", ""), (int(found[2]), int(found[3]))))
    return rows, ending and ending[1].replace(" ", "")


def test_the_variants():
    budget = Budget(max_turns=3, max_actions_per_turn=1, max_actions=3, penalty=10)
    assert {
        "Mastermind-v0": MastermindVariant("Mastermind-v0", Generator(3, 3, 6, 40), budget),
        "MastermindLarge-v0": MastermindVariant(
            "MastermindLarge-v0", Generator(4, 2, 24, 120), budget
        ),
    } == VARIANTS


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Odd: a turn has one guess, whose answer comes first"):
        MastermindVariant("Odd", budget=Budget(20, 2, 20))


def test_the_first_observation_in_full():
    assert make("Mastermind-v0", split="test").reset(seed=0)[0] == (
        "You are playing Mastermind: find the secret code of 3 pegs. Each peg has one of 6 "
        "colours, A, B, C, D, E, F, and several pegs may have the same.\n"
        "A guess is answered by two numbers: how many of its pegs have the colour of the code at "
        "that place, and how many of its other pegs have a colour that the code has at another "
        "place. Each peg of the guess and of the code counts once.\n"
        "Some guesses have been made. All codes that agree with all answers are equally likely.\n"
        "Each turn, make one guess: 3 letters with blanks between them. It may be any code.\n"
        "You have 3 turns.\n"
        "\n"
        "Guesses so far, with their answers:\n"
        "A D E: 0 in place, 1 elsewhere\n"
        "C C E: 0 in place, 1 elsewhere\n"
        "A F A: 0 in place, 1 elsewhere\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>CODE</answer>"
    )


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", PEGS)
def test_held_out_states_are_the_shipped_openings(name, split):
    env = make(name, split=split)
    listed = tuple(" ".join(code) for code in reference.codes(PEGS[name]))
    for seed, (figures, lines) in enumerate(blocks("mastermind/openings", f"{name}-{split}.txt")):
        first, info = env.reset(seed=seed)
        rows, _ = read(state_in(first))
        assert rows == reference.rows(lines)
        assert info["ceiling"] == float(figures["ceiling"])
        assert info["possible"] == len(reference.possible(PEGS[name], rows))
        assert info["legal_actions"] == listed


@settings(max_examples=examples(80))
@given(names, st.integers(0, 255), st.integers(0, 9), st.lists(st.integers(0, 1295), min_size=3))
def test_play_agrees_with_plain_counting(name, seed, rollout, choices):
    """Answers, ends, rewards and figures from the text that stood there before."""
    env = started(name, seed, rollout)
    every = reference.codes(PEGS[name])
    rows, _ = read(env.render())
    told = []
    for turn, choice in enumerate(choices[:3], 1):
        before = reference.possible(PEGS[name], rows)
        # Half of the guesses are possible ones, so that some win.
        pool = before if choice % 2 else every
        guess = pool[choice % len(pool)]
        observation, reward, terminated, truncated, info = env.step(" ".join(guess).lower())
        rows, secret = read(observation.partition("\n")[2])
        assert rows[-1][0] == guess
        told.append(rows[-1])
        after = reference.possible(PEGS[name], rows)
        won = rows[-1][1][0] == PEGS[name]
        assert info["possible"] == len(after)
        assert info["bits"] == pytest.approx(log2(len(before) / len(after)), abs=1e-9)
        assert info["consistent"] == (guess in before)
        assert info["action_is_effective"] == (won or len(after) < len(before))
        assert (reward, terminated, info["success"]) == (float(won), won, won)
        assert truncated == (turn == 3 and not won)
        assert (secret is not None) == (terminated or truncated)
        if secret is not None:
            assert all(reference.told(code, secret) == answer for code, answer in rows)
            assert (secret == guess) == won
            break


def test_a_turn_without_a_guess_costs_and_tells_nothing():
    env = started("Mastermind-v0", 3)
    env.step("A A A")
    before = env.render()
    for answer in ("A A", "Z Z Z"):
        observation, reward, *_, info = env.step(answer)
        assert observation.partition("\n")[2].startswith(before)
        assert (reward, info["action_is_effective"]) == (-0.1, False)
        assert (info["bits"], info["consistent"]) == (0.0, 0.0)
    assert info["possible"] > 1


def test_the_example_is_no_code():
    *_, info = started("Mastermind-v0", 3).step("CODE")
    assert (info["action_is_valid"], info["answer_is_example"]) == (False, True)


@pytest.mark.parametrize("answer", ["b c d", "BCD", " B  C D ", "B\tC\nD"])
def test_neither_case_nor_blanks_matter(answer):
    one, other = started("Mastermind-v0", 3), started("Mastermind-v0", 3)
    assert one.step("B C D") == other.step(answer)


def test_copies_share_the_tables_of_codes():
    env = started("MastermindLarge-v0", 3)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other._every is env._every
        assert other.action_reader is env.action_reader


@given(names, st.integers(0, 255))
def test_rollouts_that_show_the_same_are_answered_the_same(name, seed):
    """So that the oracle knows what is shown, and nothing else."""
    answered = {}
    for rollout in range(6):
        env = started(name, seed, rollout)
        while env.legal_actions:
            (guess,) = env.best_actions()
            assert answered.setdefault(env.render(), guess) == guess
            env.step(guess)


@pytest.mark.parametrize("name", PEGS)
def test_the_ceiling_is_the_share_of_codes_that_the_oracle_wins(name):
    """Over rollouts that between them meet every code, each code weighed once."""
    for seed in (1, 2, 4, 5):
        env, won, rollout = started(name, seed), {}, 0
        count = int(env._possible_count)
        while len(won) < count:
            env.reset(seed=seed, options={"noise_seed": rollout})
            rollout, secret, success = rollout + 1, env._secret, False
            while env.legal_actions and secret not in won:
                *_, info = env.step(env.best_actions()[0])
                success = info["success"]
            won.setdefault(secret, success)
        stated = env.reset(seed=seed)[1]["ceiling"]
        assert stated == round(float(Fraction(sum(won.values()), count)), 9)


def test_all_codes_that_agree_are_equally_likely_in_rollouts():
    env = started("Mastermind-v0", 0)
    secrets = all_codes(3).members(env.possible)
    met = Counter()
    for rollout in range(60 * len(secrets)):
        env.reset(seed=0, options={"noise_seed": rollout})
        met[env._secret] += 1
    assert set(met) == set(secrets)
    assert chi_square([met[each] for each in secrets], [1] * len(secrets)) < rare(len(secrets) - 1)
