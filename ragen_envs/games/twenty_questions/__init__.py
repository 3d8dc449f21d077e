"""Twenty Questions: find a word by asking an honest answerer."""
