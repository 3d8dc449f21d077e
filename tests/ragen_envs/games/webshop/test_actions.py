import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.games.webshop.actions import (
    LONGEST_SEARCH,
    PageReader,
    click_of,
    search_of,
    searches_for,
    words_of,
)

LISTED = ("click[back to search]", "click[next >]", "click[size: 3 [wide]]")


def reader(any_search=False):
    return PageReader(LISTED, "ACTION", any_search)


def named(answer, any_search=False):
    """Return the actions that a plain answer names, and whether all in it are known."""
    read = reader(any_search)
    parsed = read.read(answer, "plain")
    return [read.actions[i] for i in parsed.actions], parsed.actions_valid


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("click[back to search]", LISTED[0]),
        ("  CLICK [ Back  To\nSearch ] ", LISTED[0]),
        ("Click[Next >]", LISTED[1]),
        ("click[SIZE: 3 [wide]]", LISTED[2]),
        ("click[buy now]", None),
        ("back to search", None),
        ("click[]", None),
        ("search[red shoes]", None),
        ("ACTION", None),
        ("", None),
    ],
)
def test_clicks(answer, expected):
    assert named(answer) == ([expected] if expected else [], expected is not None)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("search[red shoes]", "search[red shoes]"),
        (" Search [ RED\tshoes\x00 ]", "search[red shoes]"),
        ("search[a]b]", "search[a]b]"),
        ("search[" + 9000 * " " + "lamp]", "search[lamp]"),
        ("search[caf\u00e9]", "search[caf]"),
        ("search[]", None),
        ("search[ \x00\u00e9 ]", None),
        ("search red", None),
        ("search[red", None),
    ],
)
def test_searches(answer, expected):
    assert named(answer, True) == ([expected] if expected else [], expected is not None)


def test_several_actions_are_told_apart():
    answer = "search[a] || fly || search[b] || search[A] || click[next >]"
    assert named(answer, True) == (["search[a]", "search[b]", "search[a]", LISTED[1]], False)


def test_what_an_answer_adds_is_there_when_it_is_read_again():
    read = reader(True)
    for answer in ("search[x]", "search[y]", "search[x]", "search[y] || search[z]"):
        found = [read.actions[i] for i in read.read(answer, "plain").actions]
        assert found == [search_of(part.split("[")[1][0]) for part in answer.split(" || ")]
    assert read.actions == (*LISTED, "search[x]", "search[y]", "search[z]")


def test_a_search_of_any_length_is_cut():
    action = search_of("ab " * 10_000)
    assert len(words_of(action)) <= LONGEST_SEARCH
    assert named(f"search[{'ab ' * 10_000}]", True) == ([action], True)


def test_many_searches_are_read_in_one_pass():
    answer = " || ".join(f"search[{n}]" for n in range(20_000))
    found, valid = named(answer, True)
    assert valid
    assert found[-1] == "search[19999]"


@given(st.text(max_size=60), st.booleans(), st.sampled_from(RESPONSE_FORMATS))
def test_any_answer_is_read(text, any_search, form):
    for answer in (text, f"search[{text}]", f"<answer>click[{text}]</answer>"):
        read = reader(any_search)
        parsed = read.read(answer, form)
        assert all(0 <= i < len(read.actions) for i in parsed.actions)
        assert all(set(action) <= set(string.printable) for action in read.actions)


@given(st.text(max_size=400))
def test_an_action_is_read_as_it_is_written(text):
    action = search_of(text)
    assert search_of(words_of(action)) == action
    assert click_of(words_of(click_of(text))) == click_of(text)
    if action != "search[]":
        assert named(action, True) == ([action], True)
        for form in RESPONSE_FORMATS:
            read = reader(True)
            parsed = read.read(format_answer([action], form), form)
            if not any(tag in action for tag in ("think>", "answer>")):
                assert [read.actions[i] for i in parsed.actions] == [action]


def test_the_listed_searches_are_of_the_request_and_its_words():
    assert searches_for("I need size: 7.5 ankle boots, for under 40 dollars") == (
        "search[i need size: 7.5 ankle boots, for under 40 dollars]",
        "search[need]",
        "search[size]",
        "search[7.5]",
        "search[ankle]",
        "search[boots]",
        "search[for]",
        "search[under]",
        "search[dollars]",
    )
