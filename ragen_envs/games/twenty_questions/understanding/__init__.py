"""From a question in free English to its logical form.

`reader.py` calls the other modules in turn:

1. `tokens`: the sentences as plain words.
2. `discourse`, `conjunctions`, `grammar`: words around the question are dropped, joined questions
   are split, and each gets the plain order "is|does it ...".
3. `lexicon`, `spelling`: the frames and phrases of `tables` give most clauses a meaning.
   To add a new wording of a known meaning, add a phrase to `synonyms.toml` or to a fact's entry.
4. `nouns`, `comparisons`, `letters`, `narrowed`: the other clauses.
   `comparisons.toml` and `letters.toml` have the frames of those two.
"""

from ragen_envs.games.twenty_questions.understanding.reader import understand

__all__ = ["understand"]
