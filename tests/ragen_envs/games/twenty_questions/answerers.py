"""Answerers that know nothing but the text they read: in modules, so that they can be pickled."""

import hashlib
import re

from ragen_envs.core.protocol import format_answer
from ragen_envs.games.twenty_questions.forms import answer, with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.text import REPHRASE
from ragen_envs.games.twenty_questions.understanding import understand

_WORD = re.compile(r"^The word is (.*)\.$", re.MULTILINE)
_QUESTION = re.compile(r"^Question \d+: (.*)$", re.MULTILINE)


def format_of(text: str) -> str:
    """Return the response format that the last line of a text demands."""
    last = text.splitlines()[-1]
    return "think" if last.startswith("<think>") else "plain" if last == "REPLY" else "answer"


def honest(text: str) -> str:
    """Answer as the rule does, from the text alone."""
    knowledge = load()
    [word], [question] = _WORD.findall(text), _QUESTION.findall(text)
    [concept] = [c for c in knowledge.concepts.values() if with_article(c.name, knowledge) == word]
    form = understand(question, knowledge)
    reply = (answer(form, concept, knowledge) if form else None) or REPHRASE
    return format_answer([reply], format_of(text))


def erratic(text: str) -> str:
    """Answer anything, readable or not, as a hash of the text decides."""
    replies = ["Yes", "No", "Sometimes", REPHRASE, "Yes, mostly", "REPLY", ""]
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    said = replies[number % 7]
    return said if number // 7 % 4 == 0 else format_answer([said], format_of(text))


def reply_to(env, answer, reply):
    """Run a turn of a `TwoPlayerQuestionsEnv`; None stands for an answerer that cannot tell."""
    if env.opponent_reads(answer) is None:
        return env.step_with(answer, None)
    return env.step_with(answer, format_answer([reply or REPHRASE], env.opponent_format))
