"""The oracle: asks the question with the most information, and guesses when few words are left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.twenty_questions import forms
from ragen_envs.games.twenty_questions.forms import ANSWERS, Answer, Form, Guess
from ragen_envs.games.twenty_questions.knowledge.schema import GRADES, Knowledge

_NOT_KNOWN = -1


class Solver:
    """Asks the standard question with the most information, if all words are equally likely.

    The information of a question is the entropy of its reply (Shannon 1948) over the words that
    agree with all replies so far. The solver is deterministic: the first of equal questions wins.
    In `asked`, a reply is None if the answerer could not tell. `table` has the replies to the
    standard questions as indices into ANSWERS, -1 for none, of shape (words, questions).
    The methods raise a ValueError if every word has been guessed.
    """

    def __init__(self, knowledge: Knowledge, pool: Iterable[str] | None = None) -> None:
        self.knowledge = knowledge
        self.questions = forms.questions(knowledge)
        self.pool = tuple(knowledge.concepts if pool is None else pool)
        self._places = {form: place for place, form in enumerate(self.questions)}
        self.table = np.full(
            (len(self.pool), len(self.questions)), ANSWERS.index("No"), dtype=np.int8
        )
        for row, name in zip(self.table, self.pool, strict=True):
            concept = knowledge.concepts[name]
            for key, grade in concept.memberships.items():
                row[self._places[forms.IsKind(key)]] = GRADES.index(grade)
            for key, grade in concept.grades.items():
                row[self._places[forms.Has(key)]] = GRADES.index(grade)
            for key in concept.unknown:
                row[self._places[forms.Has(key)]] = _NOT_KNOWN
        for place, form in enumerate(self.questions):
            if isinstance(form, forms.Compare):
                self.table[:, place] = self._column(form)
        self._word = {name: place for place, name in enumerate(self.pool)}
        # A product with it counts each reply; float32 is exact for so few words.
        self._one_hot = np.stack([self.table == i for i in range(len(ANSWERS))]).astype(np.float32)

    def next(self, asked: Sequence[tuple[Form, Answer | None]]) -> Form:
        """Return the next question on the words with the fewest disagreements (replies may err)."""
        remaining = self.remaining(asked)
        if len(remaining) <= 2:
            return self.guess(asked)
        among = np.zeros(len(self.pool), dtype=np.float32)
        among[remaining] = 1
        counts = among @ self._one_hot
        # Words without a reply contribute no information.
        gain = np.round(information(counts) * counts.sum(axis=0) / len(remaining), 9)
        for form, _ in asked:
            if form in self._places:
                gain[self._places[form]] = -1.0
        best = int(np.argmax(gain))
        return self.questions[best] if gain[best] > 0 else self.guess(asked)

    def guess(self, asked: Sequence[tuple[Form, Answer | None]]) -> Guess:
        """Return the first remaining word, those last whose guess was already answered Yes.

        "Is it a chair?" is answered Yes for an armchair too, and does not win.
        """
        names = [self.pool[place] for place in self.remaining(asked)]
        return next((g for g in map(Guess, names) if (g, "Yes") not in asked), Guess(names[0]))

    def remaining(self, asked: Sequence[tuple[Form, Answer | None]]) -> NDArray[np.intp]:
        """Return the indices in the pool of the words that agree best with the replies."""
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

    def _column(self, form: Form) -> NDArray[np.int8]:
        concepts = (self.knowledge.concepts[name] for name in self.pool)
        found = [forms.answer(form, concept, self.knowledge) for concept in concepts]
        places = [_NOT_KNOWN if each is None else ANSWERS.index(each) for each in found]
        return np.array(places, dtype=np.int8)


def information(counts: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the entropy of each question's reply in bits, of shape (questions,).

    Counts of words have the shape (replies, questions). The result is rounded to nine decimals, so
    that ties are ties on every machine.
    """
    fractions = counts.astype(np.float64) / np.maximum(counts.sum(axis=0), 1)
    # A reply of no word adds nothing: 0 * log 0 is 0.
    logs = np.log2(fractions, out=np.zeros_like(fractions), where=fractions > 0)
    bits: NDArray[np.float64] = np.round(-(fractions * logs).sum(axis=0), 9)
    return bits
