"""From a question in free English to its logical form.

`reader.py` calls four rooms in turn:

1. `tokens`: its sentences as plain words.
2. `clauses`: what is said around the question goes, questions that are joined part, each gets the
   plain order "is|does it ..." (for which the lexicon is asked which verbs there are).
3. `lexicon`: the frames and phrases of `tables` give most clauses a meaning. A new way to say what
   the tables hold is a phrase more in `synonyms.toml`, or in a fact's entry; `comparisons.toml` and
   `letters.toml` have the frames of what only the next room reads.
4. `meanings`: the rest: nouns, comparisons, letters of the word, what is added at the end, and what
   is understood in part.
"""

from ragen_envs.games.twenty_questions.understanding.understand import understand

__all__ = ["understand"]
