"""What a model thought, and what it said: no tag and no thought reaches the next turn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.models import Completion
from ragen_bench.models.reasoning import stop_text, without_reasoning
from tests.cases import examples
from tests.work import CountedText

UP = "<answer>Up</answer>"
PIECES = st.sampled_from(["<think>", "</think>", UP, "</answer>", " ", "hm", "Left"])


def parted(text, response_format="answer", **fields):
    made = without_reasoning(Completion(text, **fields), response_format)
    return made.text, made.reasoning


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        (UP, UP, ""),
        (f"<think>a</think>\n\n{UP}", UP, "a"),
        (f"a</think>{UP}", UP, "a"),
        (f"<think>a</think> <think>b</think>{UP}", UP, "a\nb"),
        (f"a</think> b </think>{UP}", UP, "a\nb"),
        (f"<think>a<think>b</think>{UP}", UP, "ab"),
        (f"<think>It ends as in {UP}.</think>{UP}", UP, f"It ends as in {UP}."),
        (f"It ends as in {UP}.</think>{UP}", UP, f"It ends as in {UP}."),
        (f"<think>a</think>{UP} or </think>", UP, "a"),
        (f"{UP}<think>a</think><answer>Left</answer>", UP, ""),
        (f"{UP} and more", UP, ""),
        ("<think>without an end", "", "without an end"),
        ("Sure! <think>without an end", "Sure! ", "without an end"),
        (f"Sure! <think>a</think>{UP}", f"Sure! {UP}", "a"),
        ("  Up", "  Up", ""),
    ],
)
def test_thoughts_and_answers(text, said, thought):
    expected = (said.lstrip() if "</think>" in text else said, thought)
    assert parted(text) == parted(text, "plain") == expected


def test_the_stop_text_is_ignored_next_to_tool_calls():
    call = '<tool_call>{"name": "say", "arguments": {"text": "</answer>"}}</tool_call>'
    text = f"<think>It is {UP}.</think>So {UP}? {call}"
    assert parted(text, "tools") == (f"So {UP}? {call}", f"It is {UP}.")
    assert parted(f"{call}{call}", "tools") == (f"{call}{call}", "")
    assert stop_text("tools", False) == ""


def test_reasoning_of_the_server_comes_first():
    assert parted(f"<think>b</think>{UP}", reasoning="a") == (UP, "a\nb")


def test_format_think_keeps_the_thoughts():
    for text in (f"<think>a</think>{UP} more", "</think>"):
        completion = Completion(text, finish="length", reasoning="r")
        assert without_reasoning(completion, "think") is completion


def test_an_answer_with_its_end_was_not_cut():
    whole, cut = (
        without_reasoning(Completion(text, 5, 9, "length"), "answer") for text in (f"{UP} and", "U")
    )
    assert whole == Completion(UP, 5, 9, "stop")
    assert cut == Completion("U", 5, 9, "length")


def test_no_stop_text_where_thoughts_may_repeat_the_format():
    assert [stop_text("answer", constrain) for constrain in (False, True)] == ["", "</answer>"]
    assert stop_text("think", False) == stop_text("plain", False) == "</answer>"


@settings(max_examples=examples(300))
@given(st.lists(PIECES, max_size=9).map("".join), st.sampled_from(["", "r", "a</think>b"]))
def test_no_tag_is_kept_and_the_function_is_idempotent(text, reasoning):
    once = without_reasoning(Completion(text, 1, 2, "length", reasoning), "answer")
    assert "<think>" not in once.text
    assert "</think>" not in once.text
    assert once.text.count("</answer>") <= 1
    assert without_reasoning(once, "answer") == once
    if "think>" not in text:
        assert once.text == text[: (text + "</answer>").index("</answer>") + len("</answer>")]


@pytest.mark.parametrize(
    "piece", ["<think>", "</think>", "<think></think>", "</answer>", f"<think>{UP}"]
)
def test_removing_thoughts_takes_linear_time(piece):
    few, many = CountedText(piece * 100), CountedText(piece * 800)
    parted(few), parted(many)
    assert many.work <= 8 * few.work + 50
    assert many.work <= 3 * len(many)
