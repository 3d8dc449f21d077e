"""Search: answer a question by facts that stand on several pages of a small encyclopedia."""
