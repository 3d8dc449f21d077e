"""Answers to questions: by the rule, or by an answerer in its own words."""
