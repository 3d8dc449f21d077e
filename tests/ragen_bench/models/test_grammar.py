"""The language of constrained answers: what it holds, that it fits, and that both forms agree."""

import json
import re
from dataclasses import dataclass

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragen_envs  # noqa: F401 - registers the environments
from ragen_bench.models.grammar import (
    MAX_FREE_TEXT,
    MAX_THOUGHT,
    answer_gbnf,
    answer_regex,
    thought_bound,
)
from ragen_envs.core.protocol import RESPONSE_FORMATS, ActionReader, FreeText, format_answer
from ragen_envs.registration import IDS

FORMATS = st.sampled_from(RESPONSE_FORMATS)
THOUGHTS = st.text("".join(map(chr, [10, *range(32, 127)])).replace("<", ""))


@st.composite
def turns(draw):
    """Return a turn of a suite's environment, with some actions behind it."""
    env = gymnasium.make(draw(st.sampled_from(IDS)), response_format=draw(FORMATS)).unwrapped
    env.reset(seed=draw(st.integers(0, 99)))
    for _ in range(draw(st.integers(0, 3))):
        env.step(format_answer([draw(st.sampled_from(env.legal_actions))], env.response_format))
        if not env.legal_actions:
            env.reset(seed=0)
    return env


WORD = st.text(r"aB0\.^$*+?{}[]()|/-'" + '"√', min_size=1, max_size=5)
NAMES = WORD.filter(lambda word: "||" not in word and word.strip("|") == word)
PRINTABLE = "".join(map(chr, range(32, 127)))
SPOKEN = st.text("".join(sorted(set(PRINTABLE) - set("<|[]\\"))), min_size=1)


class FreeReader(ActionReader):
    """Knows the free action too, by the definition of `FreeText`."""

    def __init__(self, names, free):
        super().__init__(names, "")
        self.free = free

    def _parse(self, body):
        before, after, longest, _ = self.free
        for word in self._words(body):
            if word.startswith(before) and word.endswith(after):
                words = word[len(before) : -len(after)]
                if words.strip() and after not in words and len(words) <= longest:
                    self._index.setdefault(word, len(self._index))
        return super()._parse(body)


@dataclass
class Other:
    """What a grammar looks at of an environment."""

    legal_actions: tuple
    free_text: FreeText | None
    actions_this_turn: int
    response_format: str

    def read(self, answer):
        free = self.free_text
        reader = (
            FreeReader(self.legal_actions, free) if free else ActionReader(self.legal_actions, "")
        )
        parsed = reader.read(answer, self.response_format)
        return parsed, parsed.actions


FREE = st.builds(
    FreeText,
    st.sampled_from(["search[", "say(", ".*", "+"]),
    st.sampled_from(["]", ")", "}", "!", "]]"]),
    st.integers(1, 2 * MAX_FREE_TEXT),
    st.just(""),
)


@st.composite
def others(draw):
    """Return a turn of an environment whose actions have names of any kind."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    free, most = draw(st.none() | FREE), draw(st.integers(1, 3))
    return Other(tuple(names), free, most, draw(FORMATS))


TURNS = turns() | others()


def names_of(env):
    """Return what may be answered, the longest words of one's own included."""
    free = env.free_text
    if free is None or free.form:
        return env.legal_actions
    return *env.legal_actions, f"{free[0]}{'w' * min(free.longest, MAX_FREE_TEXT)}{free[1]}"


@given(st.data(), TURNS, st.integers(1, 300))
def test_all_that_matches_is_valid(data, env, max_tokens):
    answer = data.draw(st.from_regex(answer_regex(env, max_tokens), fullmatch=True))
    parsed, names = env.read(answer)
    assert parsed.format_valid
    assert parsed.actions_valid
    assert 1 <= len(parsed.actions) == len(names) <= env.actions_this_turn


@given(st.data(), TURNS, st.integers(1, 300))
def test_every_answer_that_the_protocol_writes_matches(data, env, max_tokens):
    actions = data.draw(
        st.lists(st.sampled_from(names_of(env)), min_size=1, max_size=env.actions_this_turn)
    )
    thought = data.draw(THOUGHTS)[: thought_bound(env, max_tokens)]
    answer = format_answer(actions, env.response_format, thought)
    assert re.fullmatch(answer_regex(env, max_tokens), answer)


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
def test_what_does_not_match(response_format):
    env = gymnasium.make("ragen/Sokoban-v0", response_format=response_format).unwrapped
    env.reset(seed=0)
    form = re.compile(answer_regex(env, 200))
    whole = format_answer(["Up"] * 5, response_format, "so")
    assert form.fullmatch(whole)
    for broken in (
        whole.replace("Up", "up"),
        whole.replace("Up", "Jump"),
        whole.replace("Up", "Up || Up", 1),
        whole + " ",
        format_answer([], response_format, "so"),
    ):
        assert not form.fullmatch(broken)
    if response_format == "think":
        for thought in ("a < b", "√", "a" * 127):
            assert not form.fullmatch(format_answer(["Up"], "think", thought))


@given(st.data(), TURNS, st.integers(1, 1200))
def test_with_ample_tokens_an_answer_fits_however_it_is_spelled(data, env, max_tokens):
    thought = "." * thought_bound(env, max_tokens) if env.response_format == "think" else ""
    names = names_of(env)
    if env.free_text and env.free_text.form:
        names = *names, "w" * env.free_text.longest
    longest = format_answer(
        [max(names, key=len)] * env.actions_this_turn, env.response_format, thought
    )
    form = len(longest) - len(thought)
    if max_tokens >= 2 * (form + 1):
        assert len(longest) + 1 <= max_tokens  # a token each, and one that ends the turn
    if env.response_format == "think":
        full = max(max_tokens // 2, max_tokens - form - 1)
        assert thought_bound(env, max_tokens) == min(MAX_THOUGHT, full)
        assert not re.fullmatch(
            answer_regex(env, max_tokens), longest.replace("</think>", ".</think>")
        )


def shopper(**arguments):
    env = gymnasium.make("ragen/WebShop-v0", split="test", **arguments).unwrapped
    env.reset(seed=0)
    return env


@given(SPOKEN)
def test_any_search_matches_and_is_run_as_it_was_said(words):
    env = shopper(response_format="answer")
    answer = format_answer([f"search[{words}]"], "answer")
    matched = re.fullmatch(answer_regex(env, 200), answer)
    assert bool(matched) == (words[0] != " " and len(words) <= MAX_FREE_TEXT)
    if matched:
        assert env.read(answer)[1] == (f"search[{' '.join(words.lower().split())}]",)


def test_words_of_ones_own_that_do_not_match():
    env = shopper(response_format="answer")
    form = re.compile(answer_regex(env, 200))
    for words in ("", " ", " a", "a<b", "a|b", "a]b", "a[b", "a\\b", "ä", "a\nb", "a" * 101):
        assert not form.fullmatch(f"<answer>search[{words}]</answer>"), words
    assert not form.fullmatch("<answer>click[a]</answer>")
    said = re.compile(answer_regex(Other(("Left",), FreeText("say(", ")", 9), 1, "plain"), 200))
    assert said.fullmatch("say(a!b)")
    assert not said.fullmatch("say(a)b)")
    assert not said.fullmatch("say(ten letters)")
    env.step("<answer>search[mount]</answer>")
    results = re.compile(answer_regex(env, 200))
    assert results.fullmatch("<answer>click[back to search]</answer>")
    assert not results.fullmatch("<answer>search[mount]</answer>")


def as_regex(gbnf):
    """Translate the part of GBNF that is used here, by its own rules."""
    root, action = (line.partition(" ::= ")[2] for line in gbnf.strip().split("\n"))
    piece = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{\d+,\d+\}|action|[()|]')

    def translated(rule):
        for match in piece.finditer(rule):
            text = match[0]
            if text[0] == '"':
                yield re.escape(json.loads(text))
            elif text == "action":
                yield f"(?:{''.join(translated(action))})"
            else:
                yield text

    assert not piece.sub("", root).strip()
    return "".join(translated(root))


@given(st.data(), TURNS, st.integers(1, 300))
def test_both_forms_are_one_language(data, env, max_tokens):
    regex, gbnf = answer_regex(env, max_tokens), as_regex(answer_gbnf(env, max_tokens))
    assert re.fullmatch(gbnf, data.draw(st.from_regex(regex, fullmatch=True)))
    assert re.fullmatch(regex, data.draw(st.from_regex(gbnf, fullmatch=True)))


def test_the_forms_of_one_turn():
    env = gymnasium.make("ragen/Sokoban-v0", response_format="think").unwrapped
    env.reset(seed=0)
    assert answer_regex(env, 200) == (
        r"<think>[ -;=-~\n]{0,126}</think><answer>(Up|Down|Left|Right)"
        r"( \|\| (Up|Down|Left|Right)){0,4}</answer>"
    )
    assert answer_gbnf(env, 200) == (
        r'root ::= "<think>" [ -;=-~\n]{0,126} "</think><answer>" action (" || " action){0,4} '
        '"</answer>"\naction ::= "Up" | "Down" | "Left" | "Right"\n'
    )
    single = gymnasium.make("ragen/BanditMultiPull-v0", response_format="plain").unwrapped
    single.reset(seed=0)
    assert answer_regex(single, 200) == f"({'|'.join(single.legal_actions)})"
    with_search = shopper(response_format="plain")
    words = r"[!-;=-Z^-{}-~][ -;=-Z^-{}-~]{0,99}"
    # Of the listed searches only the one for the whole request is longer than words may be.
    whole = (
        "search[do you sell tripod mount, left handed & wall mounted & easy carry & warm glow, "
        "choosing 48 inches for height? my budget ends at 30 dollars]"
    )
    escaped = whole.replace("[", r"\[").replace("?", r"\?").replace("]", r"\]")
    assert answer_regex(with_search, 200) == rf"({escaped}|search\[{words}\])"
    assert answer_gbnf(with_search, 200) == (
        f'root ::= "" action ""\naction ::= "{whole}" | "search[" {words} "]"\n'
    )
