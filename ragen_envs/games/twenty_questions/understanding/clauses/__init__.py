"""A text as clauses in the plain order: what is said around a question, what joins questions."""
