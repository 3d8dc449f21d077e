"""Thoughts in the marks of model families: the table, the choice of a row, and the one parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.models import Completion
from ragen_bench.models.reasoning import (
    ThoughtReader,
    let_think,
    read_thoughts,
    suggest_marks,
)
from ragen_bench.models.thinking_marks import MARKS, THINK, parse_marks
from ragen_envs.core.protocol import body_of
from tests.cases import examples

from .api.client import GREEDY
from .families import FAMILIES

UP, LEFT = "<answer>Up</answer>", "<answer>Left</answer>"
THINKING = {name: family for name, family in FAMILIES.items() if family.thought}
ROWS = {
    "magistral": "magistral",
    "kimi": "kimi",
    "gpt-oss": "gpt-oss",
    "seed-oss": "seed-oss",
    "cohere": "cohere",
    "gemma4": "gemma",
    "granite32": "granite",
    "granite33": "response",
    "exaone-deep": "thought",
    "hunyuan": "hunyuan",
}
marks_of_a_row = pytest.mark.parametrize("marks", MARKS, ids=lambda marks: marks.name)


def read(text, response_format="think", marks=THINK, opening="", finish="stop", reasoning=""):
    completion = Completion(text, 5, 9, finish, reasoning)
    made = read_thoughts(completion, response_format, marks, opening)
    return made.text, made.reasoning


def write(marks, thought, answer):
    """Write a response in marks."""
    return f"{marks.begin}{thought}{marks.end}{marks.answer}{answer}{marks.answer_end}"


def asked(family, **settings):
    """Return a reader of a family's responses, and a prompt."""
    tokenizer = family.tokenizer(**settings)
    messages = [{"role": "user", "content": "Up or Left?"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return ThoughtReader(tokenizer), tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_template_or_a_vocabulary_chooses_the_row(name):
    marks = ThoughtReader(FAMILIES[name].tokenizer()).marks
    assert marks.name == ROWS.get(name, "think")
    assert marks.identity() == ({"thinking_marks": marks.name} if name in ROWS else {})


@pytest.mark.parametrize("name", THINKING)
def test_a_whole_answer_of_each_family_is_in_form(name):
    family = THINKING[name]
    reader, prompt = asked(family)
    text = family.write("Above.", UP)
    for finish in ("stop", "length"):
        made = reader.read(Completion(text, 5, 9, finish), "think", prompt)
        assert body_of(made.text, "think") == "Up"
        assert "".join(made.text.partition("</think>")[0].split()) == "<think>Above."
        for response_format in ("answer", "plain"):
            made = reader.read(Completion(text, 5, 9, finish), response_format, prompt)
            # Hunyuan's own marks are the tags of the format "answer".
            said = "Up" if (name, response_format) == ("hunyuan", "plain") else UP
            assert (made.text, made.reasoning, made.finish) == (said, "Above.", "stop")
    made = reader.read(Completion(family.write("Above.", "Up")), "plain", prompt)
    assert (made.text.strip(), made.reasoning) == ("Up", "Above.")
    # The model thinks in its own marks, and again in those that the format asks for.
    twice = family.write("Above.", f"<think>So up.</think>{UP}")
    made = reader.read(Completion(twice), "think", prompt)
    assert body_of(made.text, "think") == "Up"
    assert "Above." in made.text
    assert "So up." in made.text


@pytest.mark.parametrize("name", THINKING)
def test_a_thought_that_was_cut_is_not_an_answer(name):
    family = THINKING[name]
    reader, prompt = asked(family)
    begun = family.thought.partition("{}")[0].removeprefix(family.opens)
    cut = Completion(f"{begun}Perhaps {UP} or", 5, 9, "length")
    for response_format in ("answer", "plain"):
        made = reader.read(cut, response_format, prompt)
        assert (made.text, made.reasoning) == ("", f"Perhaps {UP} or")
    assert body_of(reader.read(cut, "think", prompt).text, "think") is None


@pytest.mark.parametrize("name", [name for name in FAMILIES if FAMILIES[name].off])
def test_an_empty_thought_in_the_generation_prompt(name):
    family = FAMILIES[name]
    reader, prompt = asked(family, **dict(family.off))
    for response_format, text in (("answer", UP), ("plain", "Up")):
        made = reader.read(Completion(text), response_format, prompt)
        assert made.text == text
    assert body_of(reader.read(Completion(UP), "think", prompt).text, "think") == "Up"
    asked_for = Completion(f"<think>Above.</think>{UP}")
    assert reader.read(asked_for, "think", prompt) == asked_for


def test_an_opened_thought():
    reader, prompt = asked(FAMILIES["qwen3-thinking"])
    assert reader.opening(prompt) == "<think>\n"
    made = reader.read(Completion(f"Above.</think>{UP}"), "think", prompt)
    assert made.text == f"<think>\nAbove.</think>{UP}"
    # Without a closing mark, an answer that ended by itself has no thought.
    assert reader.read(Completion("Up"), "plain", prompt).text == "Up"
    assert reader.read(Completion(UP, finish="length"), "answer", prompt).text == UP
    # A server that reports thoughts separately has closed the thought itself.
    apart = Completion("Up", finish="length", reasoning="Above.")
    assert read_thoughts(apart, "plain", THINK, "<think>\n") == apart


def test_a_thought_that_nobody_opened_is_in_form_behind_an_unknown_prompt_alone():
    reader, prompt = asked(FAMILIES["qwen25"])
    answer = Completion(f"Above.</think>{UP}")
    assert reader.read(answer, "think", prompt) == answer
    assert read_thoughts(answer, "think").text == f"<think>Above.</think>{UP}"
    assert reader.read(answer, "answer", prompt).text == UP


def test_a_prompt_that_only_names_a_mark_opens_nothing():
    for prompt in (
        "Use <think>.",
        "<think>a</think><answer>Up</answer><|im_end|>\n",
        "",
        "<think>a",
    ):
        assert THINK.opening(prompt) == ""
    assert THINK.opening("a<think>\n\n</think>\n\n") == "<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    ("text", "form", "answer"),
    [
        (f"a</think>{UP}", f"<think>a</think>{UP}", UP),
        (f"a <think>b</think> c</think>{UP}", f"<think>a  b  c</think>{UP}", UP),
        (f"<think>a <think>b</think> c</think>{UP}", f"<think>a b\nc</think>{UP}", UP),
        (f"<think>a</think>b</think>{UP}", f"<think>a\nb</think>{UP}", UP),
        (f"<think>a</think></think>{UP}", f"<think>a</think>{UP}", UP),
        (f"<think>a</think> b <think>c</think>{UP}", f"<think>a  b  c</think>{UP}", UP),
        (f"<think>Say {LEFT}?</think>{UP}", f"<think>Say  Left ?</think>{UP}", UP),
        (f"<think>a</think>Say {LEFT}?</think>{UP}", f"<think>a Say  Left ?</think>{UP}", UP),
        (f"<think>It is </think> here.</think>{UP}", f"<think>It is\nhere.</think>{UP}", UP),
        (f"<think>a</think>{UP} or </think>{LEFT}", f"<think>a</think>{UP}", UP),
        (f"Sure! <think>a</think>{UP}", f"Sure! <think>a</think>{UP}", f"Sure! {UP}"),
        (f"<think>a {UP}", f"<think>a {UP}", ""),
        (UP, UP, UP),
    ],
)
def test_the_answer_after_the_last_closing_mark_counts(text, form, answer):
    assert read(text)[0] == form
    assert read(text, "answer")[0] == answer


@marks_of_a_row
def test_a_mark_named_in_a_thought_and_several_thoughts(marks):
    for thought in (f"Say {LEFT}?", "<think>", f"{marks.begin} is a mark", "a</think>b"):
        text = write(marks, thought, UP)
        assert body_of(read(text, marks=marks)[0], "think") == "Up"
        assert read(text, "answer", marks)[0] == UP
    two = write(marks, "a", "") + "\n" + write(marks, "b", UP)
    if not marks.answer:
        assert read(two, marks=marks)[0] == f"<think>a\nb</think>{UP}"
    assert read(two, "answer", marks)[0] == UP


@settings(max_examples=examples(300))
@given(
    st.sampled_from(MARKS),
    st.lists(st.sampled_from([*"MNabA</>", " ", UP, LEFT, "</answer>", "<answer>", "hm"])),
    st.sampled_from(["think", "answer", "plain", "tools"]),
    st.sampled_from(["stop", "length"]),
    st.sampled_from(["", "open"]),
)
def test_reading_twice_is_reading_once(marks, pieces, response_format, finish, opening):
    letters = {"M": marks.begin, "N": marks.end, "a": "<think>", "b": "</think>", "A": marks.answer}
    text = "".join(letters.get(piece, piece) for piece in pieces)
    begin = marks.begin if opening else ""
    once = read_thoughts(Completion(text, 5, 9, finish), response_format, marks, begin)
    assert read_thoughts(once, response_format, marks) == once
    if response_format == "think" and body_of(text, "think") is not None:
        assert once.text == text


@settings(max_examples=examples(200))
@given(st.sampled_from(MARKS), st.text(max_size=30), st.sampled_from(["think", "tools", "plain"]))
def test_an_answer_without_marks_is_unchanged(marks, text, response_format):
    if not marks.pattern.search(text):
        completion = Completion(text, 5, 9, "length")
        assert read_thoughts(completion, response_format, marks) is completion


@settings(max_examples=examples(200))
@given(
    st.sampled_from(MARKS),
    st.text("abc <>/[]|", max_size=20).map(str.strip),
    st.sampled_from(["Up", "Left || Up"]),
)
def test_a_thought_and_an_answer_are_read_alike_in_all_marks(marks, thought, body):
    text = write(marks, thought, f"<answer>{body}</answer>")
    assert body_of(read(text, marks=marks)[0], "think") == body
    assert read(text, "answer", marks) == (f"<answer>{body}</answer>", thought)


def test_a_channel_may_name_the_kind_of_its_content():
    text = f"<|channel|>final <|constrain|>json<|message|>{UP}"
    thought = "<|channel|>analysis<|message|>a<|end|><|start|>assistant"
    assert read(text, "answer", parse_marks("gpt-oss")) == (UP, "")
    assert read(thought + text, marks=parse_marks("gpt-oss"))[0] == f"<think>a</think>{UP}"


def test_marks_by_name_and_by_themselves():
    assert parse_marks("magistral").begin == "[THINK]"
    assert parse_marks("Nemotron") is parse_marks("<think> </think>") is THINK
    assert parse_marks("exaone") is parse_marks("<thought> </thought>")
    own = parse_marks("<<  >>")
    assert (own.begin, own.end, own.identity()) == ("<<", ">>", {"thinking_marks": "<< >>"})
    assert read(f"<<a>>{UP}", marks=own)[0] == f"<think>a</think>{UP}"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("magistrel", "unknown name of --thinking-marks 'magistrel'"),
        ("", "--thinking-marks must be a name or two different marks, 'OPEN CLOSE', got ''"),
        ("a b c", "got 'a b c'"),
        ("| |", "got '| |'"),
        ("<answer> </answer>", "got '<answer> </answer>'"),
    ],
)
def test_wrong_marks_are_refused(option, says):
    with pytest.raises(UserError) as caught:
        parse_marks(option)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_marks_of_most_answers_are_suggested():
    texts = [f"[THINK]a[/THINK]{UP}", f"<think>a</think>{UP}", f"[THINK]b[/THINK]{UP}"]
    assert suggest_marks(texts, "think") == suggest_marks(texts, "answer") == "magistral"
    assert suggest_marks([UP, "Up"], "think") == suggest_marks(texts, "plain") == ""


def test_a_model_that_thinks_in_other_marks_may_name_the_end_of_an_answer():
    magistral = parse_marks("magistral")
    assert let_think(GREEDY, magistral, "").stop == let_think(GREEDY, THINK, "<think>\n").stop == ""
    for opening in ("", "<think>\n\n</think>\n"):
        assert let_think(GREEDY, THINK, opening) is GREEDY
