"""Grammars for `--constrain`: answers that are in form and name known actions.

The language is what `ragen_envs.core.protocol.format_answer` writes of the actions that may be
answered
now: at least one, and no more than the turn may run. A thought is of printable ASCII and line ends,
without "<", and bounded. Where an action in words of one's own may be answered, these are of
printable ASCII, begin with no blank and are bounded too.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

from ragen_envs.core.player import Player
from ragen_envs.core.protocol import SEPARATOR, FreeText, format_answer, written_form

LONGEST_THOUGHT = 1000
"""Characters at most, whatever the tokens allow: engines unroll a counted repetition."""
LONGEST_WORDS = 100
"""Characters at most of an action in words of one's own, for a model that finds no end."""
_THOUGHT = r"[ -;=-~\n]"
_PRINTABLE = range(ord(" "), ord("~") + 1)
_UNSPOKEN = frozenset("<|[]\\")
"""No words hold these: they begin tags, make up separators, or mean something in a class."""
_BETWEEN = f" {SEPARATOR} "
_MARK = "\0"
_REGEX_MARKS = frozenset(r"\.^$*+?{}[]|()")


def answer_regex(env: Player, max_tokens: int) -> str:
    r"""Return a regular expression that the whole of an answer matches.

    It has groups, alternatives, counted repetition and classes of characters, and escapes nothing
    but the marks of regular expressions: Python, Rust, XGrammar and Outlines read it alike.

    Args:
        env: the environment, or the opponent's seat, whose turn it is; its `response_format`,
            `legal_actions`, `free_text` and `actions_this_turn` decide.
        max_tokens: tokens in the answer at most, see `thought_bound`.

    Example: ``<answer>(Up|Down)( \|\| (Up|Down)){0,4}</answer>``.
    """
    *opening, before, after = map(_escaped, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    names = [*map(_escaped, _listed(env))]
    if free := env.free_text:
        names.append(_own(free))
    action = f"({'|'.join(names)})"
    more = env.actions_this_turn - 1
    further = f"({_escaped(_BETWEEN)}{action}){{0,{more}}}" if more else ""
    return "".join([*(text + thought for text in opening), before, action, further, after])


def answer_gbnf(env: Player, max_tokens: int) -> str:
    """Return the language of `answer_regex` as a grammar of llama.cpp (GBNF).

    Args:
        env: the environment, or the opponent's seat, whose turn it is.
        max_tokens: tokens in the answer at most, see `thought_bound`.
    """
    *opening, before, after = map(_quoted, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    more = env.actions_this_turn - 1
    further = [f"({_quoted(_BETWEEN)} action){{0,{more}}}"] if more else []
    root = [*(f"{text} {thought}" for text in opening), before, "action", *further, after]
    names = [*map(_quoted, _listed(env))]
    if free := env.free_text:
        names.append(f"{_quoted(free.before)} {_words(free)} {_quoted(free.after)}")
    return f"root ::= {' '.join(root)}\naction ::= {' | '.join(names)}\n"


def action_schema(player: Player) -> dict[str, Any]:
    """Return the actions of the same language as a JSON schema of their list.

    Args:
        player: the environment, or the opponent's seat, whose turn it is.

    Example: ``{"type": "array", "items": {"type": "string", "enum": ["Up", "Down"]}, "minItems": 1,
    "maxItems": 5}``.
    """
    kinds: list[dict[str, Any]] = []
    if player.legal_actions:
        kinds.append({"enum": [*player.legal_actions]})
    if player.free_text:
        kinds.append({"pattern": f"^{_own(player.free_text)}$"})
    limits = {"minItems": 1, "maxItems": player.actions_this_turn}
    item = {"type": "string", **(kinds[0] if len(kinds) == 1 else {})}
    items = {**item, "anyOf": kinds} if len(kinds) > 1 else item
    return {"type": "array", "items": items, **limits}


def thought_bound(env: Player, max_tokens: int) -> int:
    """Return the most characters that a thought may have.

    What is left of the tokens if each character of the longest answer were one, and one ended the
    turn: no token is less than a character of ASCII, so the answer is whole however the model
    spells it. At least half as many as there are tokens, though, which a thought in words hardly
    takes a quarter of: with fewer tokens than two for each character of the longest form, a model
    that spells by the letter may run into the limit.
    """
    names = env.legal_actions
    if free := env.free_text:
        names = *names, f"{free.before}{'.' * _most_words(free)}{free.after}"
    longest = max(names, key=len)
    form = format_answer([longest] * env.actions_this_turn, written_form(env.response_format))
    return min(LONGEST_THOUGHT, max(max_tokens // 2, max_tokens - len(form) - 1))


def _frame(env: Player) -> list[str]:
    """Return what stands before the thought, if there is one, before the actions and after them."""
    return format_answer([_MARK], written_form(env.response_format), _MARK).split(_MARK)


def _listed(env: Player) -> list[str]:
    """Return the listed actions but those that words of one's own hold anyway."""
    if env.free_text is None:
        return list(env.legal_actions)
    own = re.compile(_own(env.free_text))
    return [name for name in env.legal_actions if not own.fullmatch(name)]


def _own(free: FreeText) -> str:
    return f"{_escaped(free.before)}{_words(free)}{_escaped(free.after)}"


def _words(free: FreeText) -> str:
    """Return words of one's own, in a form that regular expressions and GBNF share."""
    if free.form:
        return f"({free.form})"
    unspoken = _UNSPOKEN.union(free.after[:1])
    return f"{_class(unspoken | {' '})}{_class(unspoken)}{{0,{_most_words(free) - 1}}}"


def _most_words(free: FreeText) -> int:
    return free.longest if free.form else min(free.longest, LONGEST_WORDS)


def _class(unspoken: frozenset[str]) -> str:
    """Return the class of the printable characters that are not among these."""
    spoken = enumerate(code for code in _PRINTABLE if chr(code) not in unspoken)
    # In a run of neighbours the codes grow with their places.
    runs = ([code for _, code in run] for _, run in groupby(spoken, lambda pair: pair[1] - pair[0]))
    return f"[{''.join(f'{chr(run[0])}-{chr(run[-1])}' for run in runs)}]"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in _REGEX_MARKS else c for c in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
