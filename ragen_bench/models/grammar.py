"""What an engine lets pass under `--constrain`: answers that are in form and name known actions.

The language is what `ragen_envs.protocol.format_answer` writes of the actions that may be answered
now: at least one, and no more than the turn may run. A thought is of printable ASCII and line ends,
without "<", and bounded.
"""

from __future__ import annotations

import json
from typing import Any

from ragen_envs.protocol import SEPARATOR, format_answer
from ragen_envs.text_env import TextEnv

LONGEST_THOUGHT = 1000
"""Characters at most, whatever the tokens allow: engines unroll a counted repetition."""
_THOUGHT = r"[ -;=-~\n]"
_BETWEEN = f" {SEPARATOR} "
_MARK = "\0"
_REGEX_MARKS = frozenset(r"\.^$*+?{}[]|()")


def answer_regex(env: TextEnv[Any, Any], max_tokens: int) -> str:
    r"""Return a regular expression that the whole of an answer matches.

    It has groups, alternatives, counted repetition and one class of characters, and escapes
    nothing but the marks of regular expressions: Python, Rust, XGrammar and Outlines read it alike.

    Args:
        env: the environment whose turn it is; its `response_format`, `legal_actions` and
            `actions_this_turn` decide.
        max_tokens: tokens in the answer at most, see `thought_bound`.

    Example: ``<answer>(Up|Down)( \|\| (Up|Down)){0,4}</answer>``.
    """
    *opening, before, after = map(_escaped, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    action = f"({'|'.join(map(_escaped, env.legal_actions))})"
    more = env.actions_this_turn - 1
    further = f"({_escaped(_BETWEEN)}{action}){{0,{more}}}" if more else ""
    return "".join([*(text + thought for text in opening), before, action, further, after])


def answer_gbnf(env: TextEnv[Any, Any], max_tokens: int) -> str:
    """Return the language of `answer_regex` as a grammar of llama.cpp (GBNF).

    Args:
        env: the environment whose turn it is.
        max_tokens: tokens in the answer at most, see `thought_bound`.
    """
    *opening, before, after = map(_quoted, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    more = env.actions_this_turn - 1
    further = [f"({_quoted(_BETWEEN)} action){{0,{more}}}"] if more else []
    root = [*(f"{text} {thought}" for text in opening), before, "action", *further, after]
    action = " | ".join(map(_quoted, env.legal_actions))
    return f"root ::= {' '.join(root)}\naction ::= {action}\n"


def thought_bound(env: TextEnv[Any, Any], max_tokens: int) -> int:
    """Return the most characters that a thought may have.

    What is left of the tokens if each character of the longest answer were one, and one ended the
    turn: no token is less than a character of ASCII, so the answer is whole however the model
    spells it. At least half as many as there are tokens, though, which a thought in words hardly
    takes a quarter of: with fewer tokens than two for each character of the longest form, a model
    that spells by the letter may run into the limit.
    """
    longest = max(env.legal_actions, key=len)
    form = format_answer([longest] * env.actions_this_turn, env.response_format)
    return min(LONGEST_THOUGHT, max(max_tokens // 2, max_tokens - len(form) - 1))


def _frame(env: TextEnv[Any, Any]) -> list[str]:
    """Return what stands before the thought, if there is one, before the actions and after them."""
    return format_answer([_MARK], env.response_format, _MARK).split(_MARK)


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in _REGEX_MARKS else c for c in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
