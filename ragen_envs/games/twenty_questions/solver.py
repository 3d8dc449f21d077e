"""The oracle: it asks the question with the most information, and guesses when few are left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.twenty_questions.answerer.rule import ANSWERS, Answer, answer
from ragen_envs.games.twenty_questions.forms import Compare, Form, Guess, Has, IsKind, questions
from ragen_envs.games.twenty_questions.knowledge.schema import GRADES, Knowledge

_NOT_KNOWN = -1


class Solver:
    """Asks the standard question with the most information, all words being as likely.

    The information of a question is the entropy of its answer (Shannon 1948) over the words that
    agree with all answers so far. It is deterministic: of two such questions it takes the first.

    Args:
        knowledge: where the questions and the answers are from.
        pool: the words that may be the secret; all by default.

    Attributes:
        questions: the standard questions.
        pool: the words that may be the secret.
        table: the answers as indices into ANSWERS, -1 where there is none, of shape (words,
            questions).
    """

    def __init__(self, knowledge: Knowledge, pool: Iterable[str] | None = None) -> None:
        self.knowledge = knowledge
        self.questions = questions(knowledge)
        self.pool = tuple(knowledge.concepts if pool is None else pool)
        self._places = {form: place for place, form in enumerate(self.questions)}
        self.table = self._table()
        self._word = {name: place for place, name in enumerate(self.pool)}
        # How often each answer is given is then one product; sums of so few ones are exact.
        self._one_hot = np.stack([self.table == i for i in range(len(ANSWERS))]).astype(np.float32)

    def next(self, asked: Sequence[tuple[Form, Answer | None]]) -> Form:
        """Return what to ask now.

        An answerer may err, as a model does: then the words with the fewest disagreements are left.

        Args:
            asked: the questions so far with their answers; None where it could not tell.

        Raises:
            ValueError: if every word has been guessed.
        """
        left = self.left(asked)
        if len(left) <= 2:
            return self.guess(asked)
        among = np.zeros(len(self.pool), dtype=np.float32)
        among[left] = 1
        counts = among @ self._one_hot
        # Where there is no answer, nothing is learned.
        gain = np.round(information(counts) * counts.sum(axis=0) / len(left), 9)
        for form, _ in asked:
            if form in self._places:
                gain[self._places[form]] = -1.0
        best = int(np.argmax(gain))
        return self.questions[best] if gain[best] > 0 else self.guess(asked)

    def guess(self, asked: Sequence[tuple[Form, Answer | None]]) -> Guess:
        """Return the first word left, before those that were guessed and are so in a wider sense.

        "Is it a chair?" is answered Yes of an armchair too, and does not win.

        Args:
            asked: as for `next`.

        Raises:
            ValueError: if every word has been guessed.
        """
        names = [self.pool[place] for place in self.left(asked)]
        return next((g for g in map(Guess, names) if (g, "Yes") not in asked), Guess(names[0]))

    def left(self, asked: Sequence[tuple[Form, Answer | None]]) -> NDArray[np.intp]:
        """Return the places in the pool of the words that agree best with the answers.

        Args:
            asked: as for `next`.

        Raises:
            ValueError: if every word has been guessed.
        """
        wrong = np.zeros(len(self.pool), dtype=np.int64)
        for form, reply in asked:
            if reply is not None:
                # A wrong guess rules out more than any number of disagreements.
                weight = len(asked) + 1 if isinstance(form, Guess) else 1
                wrong += weight * (self._answers(form) != ANSWERS.index(reply))
        if wrong.min() > len(asked):
            raise ValueError("every word of the pool has been guessed")
        return np.flatnonzero(wrong == wrong.min())

    def _answers(self, form: Form) -> NDArray[np.int8]:
        if isinstance(form, Guess):
            right = np.zeros(len(self.pool), dtype=np.int8)
            for name in (form.name, *self.knowledge.nouns.above.get(form.name, ())):
                if name in self._word:
                    right[self._word[name]] = ANSWERS.index("Yes")
            return right
        place = self._places.get(form)
        return self._column(form) if place is None else self.table[:, place]

    def _table(self) -> NDArray[np.int8]:
        """Return the answers to the standard questions."""
        table = np.full((len(self.pool), len(self.questions)), ANSWERS.index("No"), dtype=np.int8)
        for row, name in zip(table, self.pool, strict=True):
            concept = self.knowledge.concepts[name]
            for key, grade in concept.memberships.items():
                row[self._places[IsKind(key)]] = GRADES.index(grade)
            for key, grade in concept.grades.items():
                row[self._places[Has(key)]] = GRADES.index(grade)
            for key in concept.unknown:
                row[self._places[Has(key)]] = _NOT_KNOWN
        for place, form in enumerate(self.questions):
            if isinstance(form, Compare):
                table[:, place] = self._column(form)
        return table

    def _column(self, form: Form) -> NDArray[np.int8]:
        concepts = (self.knowledge.concepts[name] for name in self.pool)
        found = [answer(form, concept, self.knowledge) for concept in concepts]
        places = [_NOT_KNOWN if each is None else ANSWERS.index(each) for each in found]
        return np.array(places, dtype=np.int8)


def information(counts: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the entropy of each question's answer in bits, to nine decimals.

    Args:
        counts: how many words give each answer, of shape (answers, questions).

    Returns:
        Of shape (questions,); rounded, so that equal questions are equal on every machine.
    """
    shares = counts.astype(np.float64) / np.maximum(counts.sum(axis=0), 1)
    # What nobody answers adds nothing: 0 * log 0 is 0.
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: NDArray[np.float64] = np.round(-(shares * logs).sum(axis=0), 9)
    return bits
