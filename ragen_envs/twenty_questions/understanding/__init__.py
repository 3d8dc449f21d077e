"""From a question in free English to its logical form."""

from ragen_envs.twenty_questions.understanding.understand import understand

__all__ = ["understand"]
