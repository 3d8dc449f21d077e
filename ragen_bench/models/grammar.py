"""Grammars for `--constrain`: responses in the right format with legal actions.

The language is the output of `ragen_envs.core.protocol.format_answer` for the legal actions: at
least one, and at most as many as the turn allows. A thought has printable ASCII and line ends
without "<", up to a limit. Free text has printable ASCII up to a limit, and no space at its start.
"""

from __future__ import annotations

import json
import re
from itertools import groupby

from ragen_bench.json_types import JsonObject
from ragen_envs.core.protocol import SEPARATOR, FreeText, Player, format_answer, written_form

MAX_THOUGHT = 1000
"""Maximum characters, even if more tokens are allowed: engines unroll counted repetitions."""
MAX_FREE_TEXT = 100
"""Maximum characters of a free-text action, for a model that does not stop."""
_THOUGHT = r"[ -;=-~\n]"
_PRINTABLE = range(ord(" "), ord("~") + 1)
_EXCLUDED = frozenset("<|[]\\")
"""Excluded from free text: they begin tags, form separators, or are special in a class."""
_BETWEEN = f" {SEPARATOR} "
_MARK = "\0"
_REGEX_MARKS = frozenset(r"\.^$*+?{}[]|()")


def answer_regex(env: Player, max_tokens: int) -> str:
    r"""Return a regular expression for the whole response in this turn.

    It uses only groups, alternatives, counted repetition and character classes, and escapes
    only special characters, so that Python, Rust, XGrammar and Outlines read it alike.

    Example: ``<answer>(Up|Down)( \|\| (Up|Down)){0,4}</answer>``.
    """
    *opening, before, after = map(_escape, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    names = [*map(_escape, _listed_actions(env))]
    if free := env.free_text:
        names.append(_free_pattern(free))
    action = f"({'|'.join(names)})"
    extra = env.actions_this_turn - 1
    others = f"({_escape(_BETWEEN)}{action}){{0,{extra}}}" if extra else ""
    return "".join([*(text + thought for text in opening), before, action, others, after])


def answer_gbnf(env: Player, max_tokens: int) -> str:
    """Return the language of `answer_regex` as a grammar of llama.cpp (GBNF)."""
    *opening, before, after = map(_quote, _frame(env))
    thought = f"{_THOUGHT}{{0,{thought_bound(env, max_tokens)}}}"
    extra = env.actions_this_turn - 1
    others = [f"({_quote(_BETWEEN)} action){{0,{extra}}}"] if extra else []
    root = [*(f"{text} {thought}" for text in opening), before, "action", *others, after]
    names = [*map(_quote, _listed_actions(env))]
    if free := env.free_text:
        names.append(f"{_quote(free.before)} {_text_pattern(free)} {_quote(free.after)}")
    return f"root ::= {' '.join(root)}\naction ::= {' | '.join(names)}\n"


def action_schema(player: Player) -> JsonObject:
    """Return the actions of the same language as the JSON schema of a list."""
    kinds: list[JsonObject] = []
    if player.legal_actions:
        kinds.append({"enum": [*player.legal_actions]})
    if player.free_text:
        kinds.append({"pattern": f"^{_free_pattern(player.free_text)}$"})
    limits = {"minItems": 1, "maxItems": player.actions_this_turn}
    item = {"type": "string", **(kinds[0] if len(kinds) == 1 else {})}
    items = {**item, "anyOf": kinds} if len(kinds) > 1 else item
    return {"type": "array", "items": items, **limits}


def thought_bound(env: Player, max_tokens: int) -> int:
    """Return the maximum characters of a thought.

    This is `max_tokens` minus one token per character of the longest answer and one for the end of
    the turn. As no token is shorter than an ASCII character, the answer is then always complete.
    The maximum is at least `max_tokens // 2`, which a thought in words spells with about a quarter
    of the tokens. Then a model that spells letter by letter may run into the token limit.
    """
    names = env.legal_actions
    if free := env.free_text:
        length = free.longest if free.form else min(free.longest, MAX_FREE_TEXT)
        names = *names, f"{free.before}{'.' * length}{free.after}"
    longest = max(names, key=len)
    form = format_answer([longest] * env.actions_this_turn, written_form(env.response_format))
    return min(MAX_THOUGHT, max(max_tokens // 2, max_tokens - len(form) - 1))


def _frame(env: Player) -> list[str]:
    """Return the texts before the thought, if there is one, before the actions and after them."""
    return format_answer([_MARK], written_form(env.response_format), _MARK).split(_MARK)


def _listed_actions(env: Player) -> list[str]:
    """Return the listed actions that the free text does not include."""
    if env.free_text is None:
        return list(env.legal_actions)
    free = re.compile(_free_pattern(env.free_text))
    return [name for name in env.legal_actions if not free.fullmatch(name)]


def _free_pattern(free: FreeText) -> str:
    return f"{_escape(free.before)}{_text_pattern(free)}{_escape(free.after)}"


def _text_pattern(free: FreeText) -> str:
    """Return the pattern of free text, in the syntax shared by regular expressions and GBNF."""
    if free.form:
        return f"({free.form})"
    excluded = _EXCLUDED.union(free.after[:1])
    longest = min(free.longest, MAX_FREE_TEXT)
    return f"{_class(excluded | {' '})}{_class(excluded)}{{0,{longest - 1}}}"


def _class(excluded: frozenset[str]) -> str:
    """Return the class of the other printable characters."""
    included = enumerate(code for code in _PRINTABLE if chr(code) not in excluded)
    # In a run of adjacent characters, code minus index is constant.
    groups = groupby(included, lambda pair: pair[1] - pair[0])
    runs = ([code for _, code in run] for _, run in groups)
    return f"[{''.join(f'{chr(run[0])}-{chr(run[-1])}' for run in runs)}]"


def _escape(text: str) -> str:
    return "".join(f"\\{c}" if c in _REGEX_MARKS else c for c in text)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
