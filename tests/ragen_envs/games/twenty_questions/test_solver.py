import numpy as np
import pytest

from ragen_envs.games.twenty_questions.forms import ANSWERS, Guess, Has, Letter, Not, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.solver import Solver, information

KNOWLEDGE = load()


@pytest.fixture(scope="module")
def solver():
    return Solver(KNOWLEDGE)


def play(solver, secret, asked=()):
    asked = list(asked)
    while not asked or asked[-1] != (Guess(secret), "Yes"):
        form = solver.next(asked)
        asked.append((form, answer(form, KNOWLEDGE.concepts[secret], KNOWLEDGE)))
    return asked


def test_its_table_holds_the_answers(solver):
    concepts = [KNOWLEDGE.concepts[name] for name in solver.pool]
    for place, form in enumerate(solver.questions):
        given = [None if each < 0 else ANSWERS[each] for each in solver.table[:, place]]
        assert given == [answer(form, concept, KNOWLEDGE) for concept in concepts]


def test_it_wins_every_word_in_few_turns(solver):
    turns = [len(play(solver, secret)) for secret in solver.pool]
    assert max(turns) == 11
    assert sum(turns) / len(turns) == pytest.approx(3299 / 476)


def test_a_pool_makes_it_shorter():
    assert max(len(play(Solver(KNOWLEDGE, ["dog", "cat", "sun"]), s)) for s in ("dog", "sun")) <= 2
    assert play(Solver(KNOWLEDGE, ["dog"]), "dog") == [(Guess("dog"), "Yes")]


def test_it_takes_in_any_question_and_what_could_not_be_told(solver):
    first = solver.next([])
    assert solver.next([(first, None)]) != first
    left = solver.remaining([(Letter("starts", "z"), "Yes"), (Not(Has("can_fly")), "Yes")])
    assert [solver.pool[place] for place in left] == ["zebra"]


def test_a_wrong_answer_does_not_end_it(solver):
    asked = play(solver, "zebra", [(Has("has_stripes"), "No")])
    assert len(asked) <= 30
    with pytest.raises(ValueError, match="guessed"):
        solver.remaining([(Guess(name), "No") for name in solver.pool])


def test_information_is_the_entropy_in_bits():
    counts = np.array([[1, 2, 0], [1, 1, 0], [2, 1, 4]], dtype=np.float32)
    assert information(counts) == pytest.approx([1.5, 1.5, 0.0])


def test_a_guess_that_is_so_in_a_wider_sense_does_not_win(solver):
    asked = [(Guess("chair"), "Yes")]
    left = {solver.pool[place] for place in solver.remaining(asked)}
    assert left == {"chair", "armchair"}
    assert solver.next(asked) == Guess("armchair")
    assert solver.next([*asked, (Guess("armchair"), "No")]) == Guess("chair")
