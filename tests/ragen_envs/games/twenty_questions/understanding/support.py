from functools import cache

from ragen_envs.games.twenty_questions.forms import answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.understanding import understand

KNOWLEDGE = load()


def read(text):
    return understand(text, KNOWLEDGE)


@cache
def answers(form):
    """The answers of all concepts: two forms with the same ones mean the same."""
    return tuple(answer(form, concept, KNOWLEDGE) for concept in KNOWLEDGE.concepts.values())
