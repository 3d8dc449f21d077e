"""Calls: spellings, texts that are no calls, and answers that count as equal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.search.calls import LONGEST_CALL, Call, SearchReader, call_of, normalize


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("search query=Vornholt", Call("search", "vornholt")),
        ("  SEARCH   Query =  The\tVornholt \u00e9 Songs ", Call("search", "the vornholt songs")),
        ("search query=open result", Call("search", "open result")),
        ("open result=5", Call("open", "5")),
        ("Open result=003", Call("open", "3")),
        ("answer text=O'Neil, 1712!", Call("answer", "o'neil, 1712!")),
    ],
)
def test_a_call_has_one_spelling(text, call):
    assert call_of(text) == call == call_of(call.text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "search", "search query=", "search query=\u00e9", "search words=x"),
        *("search query=a b=c", "search[vornholt]", "look query=x", "answer", "open"),
        *("open result=0", "open result=6", "open result=two", "open result=\u0663"),
        *("answer text=x query=y", "open result=1 result=2"),
    ],
)
def test_other_texts_are_no_calls(text):
    assert call_of(text) is None
    assert SearchReader(()).read(text, "plain").actions == ()


@given(st.text())
def test_any_text_is_read_and_a_call_spells_itself(text):
    for prefix in ("", "search query=", "answer text=", "open result="):
        call = call_of(prefix + text)
        if call:
            assert call_of(call.text) == call
            assert re.fullmatch(r"[ -~]+", call.text)


@given(st.integers(1, 400))
def test_a_call_has_at_most_200_characters(length):
    text = f"search query={'x' * length}"
    assert len(SearchReader(()).read(text, "plain").actions) == (len(text) <= LONGEST_CALL)


@pytest.mark.parametrize(
    "answer",
    [
        "The Vornholt Songs",
        "vornholt songs",
        " Vornholt  songs. ",
        "VORNHOLT-SONGS",
        "a Vornholt songs",
    ],
)
def test_articles_case_and_punctuation_do_not_count(answer):
    assert normalize(answer) == "vornholt songs"


def test_other_words_count():
    assert (
        len({normalize(text) for text in ("Vornholt", "Vornholt Songs", "Song", "1712", "")}) == 5
    )
