import pickle
import re
from copy import deepcopy

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragen_envs.core import protocol
from ragen_envs.core.protocol import (
    BROKEN,
    LINES,
    RESPONSE_FORMATS,
    STOP,
    ActionReader,
    Lines,
    Parsed,
    body_of,
    feedback,
    format_answer,
    instructions,
)
from tests.cases import examples
from tests.ragen_envs.support import make

ACTIONS = ("Up", "Down", "Left", "Right")
EXAMPLE = "ACTION || ACTION"
READER = ActionReader(ACTIONS, EXAMPLE)
TAGS = ("<think>", "</think>", "<answer>", "</answer>")

PIECES = ["<", ">", "/", "</", "<thin", "k>", "<THINK>", "ACTION", "up", " LEFT ", "fly", "√"]
fragments = st.sampled_from(
    [*TAGS, *ACTIONS, *PIECES, "||", "|", " ", "\n", "\u2003", "\x00", "\ud800"]
)
soup = st.lists(fragments, max_size=12).map("".join)
tidy = st.lists(fragments.filter(lambda f: f not in TAGS), max_size=12).map("".join)
framed = st.tuples(soup | tidy, soup | tidy, st.sampled_from(["", " ", "\n\t", "x"])).map(
    lambda t: f"{t[2]}<think>{t[0]}</think>{t[2]}<answer>{t[1]}</answer>{t[2]}"
)
bare = st.tuples(soup, st.sampled_from(["", " \n", "x"])).map(
    lambda t: f"{t[1]}<answer>{t[0]}</answer>{t[1]}"
)
any_text = st.text(st.characters(exclude_categories=()))
answers = soup | framed | bare | any_text


def reference_body(answer, response_format):
    """The form, said once more without a regular expression."""
    if response_format == "plain":
        return answer
    rest = answer.strip()
    if response_format == "think":
        if not rest.startswith("<think>") or "</think>" not in rest:
            return None
        thought, _, rest = rest.removeprefix("<think>").partition("</think>")
        if any(tag in thought for tag in TAGS):
            return None
        rest = rest.strip()
    if not rest.startswith("<answer>") or not rest.endswith("</answer>"):
        return None
    body = rest.removeprefix("<answer>").removesuffix("</answer>")
    if len(rest) < len("<answer></answer>") or any(tag in body for tag in TAGS):
        return None
    return body


def reference_read(answer, response_format):
    body = reference_body(answer, response_format)
    if body is None:
        return Parsed(False, (), False, False)
    lower = [name.lower() for name in ACTIONS]
    words = [word.strip().lower() for word in body.split("||")]
    known = [lower.index(word) for word in words if word in lower]
    return Parsed(True, tuple(known), len(known) == len(words), words == ["action", "action"])


@settings(max_examples=examples(1_000))
@given(answers, st.sampled_from(RESPONSE_FORMATS))
@example("<answer>", "answer")
@example("<think></think><answer></answer>", "think")
@example("<think><</think><answer>Up</answer>", "think")
@example("<answer>Up</answer><answer>Down</answer>", "answer")
@example("<think>a</think><think>b</think><answer>Up</answer>", "think")
def test_reading_agrees_with_a_reference_that_uses_no_regular_expression(answer, form):
    assert body_of(answer, form) == reference_body(answer, form)
    assert READER.read(answer, form) == reference_read(answer, form)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("<think>go</think><answer>Up || Left</answer>", Parsed(True, (0, 2), True, False)),
        (" \n<think></think>\n\n<answer> up||RIGHT </answer>\n", Parsed(True, (0, 3), True, False)),
        ("<think>a < b</think><answer>Down</answer>", Parsed(True, (1,), True, False)),
        ("<think>1\n\n2</think><answer>Up\n||\nUp</answer>", Parsed(True, (0, 0), True, False)),
        ("<think>\r\n\0</think><answer>Up</answer>", Parsed(True, (0,), True, False)),
        ("<think>a</think><answer>Up || fly</answer>", Parsed(True, (0,), False, False)),
        ("<think>a</think><answer>Up ||</answer>", Parsed(True, (0,), False, False)),
        ("<think>a</think><answer>Up | Up</answer>", Parsed(True, (), False, False)),
        ("<think>a</think><answer></answer>", Parsed(True, (), False, False)),
        ("<think>a</think><answer>ACTION || ACTION</answer>", Parsed(True, (), False, True)),
        ("<think>a</think><answer>action||Action</answer>", Parsed(True, (), False, True)),
        ("<think>a</think><answer>ACTION</answer>", Parsed(True, (), False, False)),
        ("<answer>Up</answer>", BROKEN),
        ("Up", BROKEN),
        ("", BROKEN),
        ("<think>a</think><answer>Up", BROKEN),
        ("<think>a<answer>Up</answer>", BROKEN),
        ("go</think><answer>Up</answer>", BROKEN),
        ("<answer>a</think><answer>Up</answer>", BROKEN),
        ("<think>", BROKEN),
        ("<think>a", BROKEN),
        ("a<think>a</think><answer>Up</answer>", BROKEN),
        ("<think>a</think>so<answer>Up</answer>", BROKEN),
        ("<think>a</think><answer>Up</answer>.", BROKEN),
        ("<think>a</think><answer>Up</answer><answer>Up</answer>", BROKEN),
        ("<think><think>a</think><answer>Up</answer>", BROKEN),
        ("<think>a</think><answer><answer>Up</answer>", BROKEN),
        ("<THINK>a</THINK><ANSWER>Up</ANSWER>", BROKEN),
    ],
)
def test_think_format(answer, expected):
    assert READER.read(answer, "think") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("<answer>Up || Left</answer>", Parsed(True, (0, 2), True, False)),
        ("<think>go</think><answer>Up</answer>", BROKEN),
        ("<answer>Up</answer></answer>", BROKEN),
        ("Up", BROKEN),
    ],
)
def test_answer_format(answer, expected):
    assert READER.read(answer, "answer") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Up || Left", Parsed(True, (0, 2), True, False)),
        ("  down ", Parsed(True, (1,), True, False)),
        ("", Parsed(True, (), False, False)),
        ("<answer>Up</answer>", Parsed(True, (), False, False)),
        ("ACTION || ACTION", Parsed(True, (), False, True)),
    ],
)
def test_plain_format(answer, expected):
    assert READER.read(answer, "plain") == expected


@given(
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=40),
    st.sampled_from(RESPONSE_FORMATS),
    any_text.filter(lambda text: not any(tag in text for tag in TAGS)),
)
def test_a_written_answer_reads_back(actions, form, thought):
    read = READER.read(format_answer(actions, form, thought), form)
    assert read == Parsed(True, tuple(ACTIONS.index(a) for a in actions), True, False)


def test_written_answers():
    assert format_answer(["Up", "Left"], "think") == "<think></think><answer>Up || Left</answer>"
    assert format_answer(["Up"], "think", "I go.") == "<think>I go.</think><answer>Up</answer>"
    assert format_answer(["Up", "Left"], "answer", "no") == "<answer>Up || Left</answer>"
    assert format_answer(["Up", "Left"], "plain", "no") == "Up || Left"
    assert format_answer(["Up"], "think").endswith(STOP)
    assert format_answer(["Up"], "answer").endswith(STOP)


@given(st.lists(answers, max_size=8), st.sampled_from(RESPONSE_FORMATS))
def test_the_cache_changes_nothing(texts, form):
    reader = ActionReader(ACTIONS, EXAMPLE)
    once = [reader.read(text, form) for text in texts]
    assert once == [reference_read(text, form) for text in texts]
    assert [reader.read(text, form) for text in texts] == once
    assert [ActionReader(ACTIONS, EXAMPLE).read(text, form) for text in texts] == once


def test_what_was_read_once_is_kept_without_its_thought():
    reader = ActionReader(ACTIONS, EXAMPLE)
    assert reader.read("Up", "plain") is reader.read("Up", "plain")
    first = reader.read("<think>a</think><answer>Left</answer>", "think")
    assert reader.read("<think>another</think><answer>Left</answer>", "think") is first
    assert first.actions == (2,)
    assert reader.read(EXAMPLE, "plain").is_example
    # Thoughts themselves are not: they would be all that is kept.
    for i in range(5000):
        reader.read(f"<think>{i}</think><answer>Right</answer>", "think")
    assert reader.read("Down", "plain") is reader.read("Down", "plain")


def test_a_copy_carries_nothing_that_was_read():
    reader = ActionReader(ACTIONS, EXAMPLE)
    unread = pickle.dumps(reader)
    for text in ("Up", "up ||", "<think>a</think><answer>Up</answer>"):
        reader.read(text, "think" if text[0] == "<" else "plain")
    assert pickle.dumps(reader) == unread
    copied = deepcopy(reader)
    assert pickle.dumps(copied) == unread
    assert copied.read("Up", "plain") == reader.read("Up", "plain") == (True, (0,), True, False)


def test_the_cache_is_bounded():
    reader = ActionReader(ACTIONS, EXAMPLE)
    for i in range(6000):
        reader.read(f"word {i}", "plain")
    assert len(reader._cache) <= 4096
    assert reader.read("Up || Left", "plain").actions == (0, 2)
    reader = ActionReader(ACTIONS, EXAMPLE)
    reader.read("Up || " * 1000, "plain")
    assert not reader._cache


@pytest.mark.parametrize(
    ("example_body", "form", "expected"),
    [
        (
            EXAMPLE,
            "think",
            "First reason, then answer in exactly this form, with || between actions:\n"
            "<think>REASONING</think><answer>ACTION || ACTION</answer>",
        ),
        (
            EXAMPLE,
            "answer",
            "Answer in exactly this form, with || between actions:\n"
            "<answer>ACTION || ACTION</answer>",
        ),
        ("ARM", "plain", "Answer in exactly this form:\nARM"),
    ],
)
def test_instructions(example_body, form, expected):
    assert instructions(example_body, form) == expected


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
def test_the_form_in_the_instructions_is_in_form_and_flagged(form):
    shown = instructions(EXAMPLE, form).splitlines()[-1]
    assert READER.read(shown, form) == Parsed(True, (), False, True)


ADVERSARIAL = {
    "less-than": lambda n: "<" * n,
    "slashes": lambda n: "</" * (n // 2),
    "think": lambda n: "<think>" * (n // 7),
    "closed": lambda n: "</think>" * (n // 8),
    "pairs": lambda n: "<think></think>" * (n // 15),
    "answers": lambda n: "<think></think>" + "<answer></answer>" * (n // 17),
    "unclosed": lambda n: "<think>" + "<" * n,
    "unclosed answer": lambda n: "<think></think><answer>" + "</answer" * (n // 8),
    "spaces": lambda n: " " * n,
    "spaces between": lambda n: "<think></think>" + " " * n + "<answer>Up</answer",
    "spaces behind": lambda n: "<think></think><answer>Up</answer>" + " " * n + "x",
    "separators": lambda n: "<think></think><answer>" + "||" * (n // 2) + "</answer>",
    "actions": lambda n: "<think></think><answer>" + "Up||" * (n // 4) + "</answer>",
}


@pytest.mark.parametrize("form", RESPONSE_FORMATS)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_reading_ends_on_long_adversarial_answers(name, form):
    # Quadratic work would take a quarter of an hour.
    answer = ADVERSARIAL[name](1_000_000)
    parsed = READER.read(answer, form)
    assert parsed.format_valid == (reference_body(answer, form) is not None)


NAMES = ("Up", "Left")


def test_lines_are_those_of_feedback_and_bounded():
    lines = Lines()
    for left in range(10_000):
        turn = NAMES, (0, 1), 1, True, False, -30, 4, left
        assert lines[turn] == lines[turn] == feedback(turn)
        assert f"Reward: -0.3. Remaining: 4 turns, {left} action" in lines[turn]
    assert 0 < len(lines) <= 4096


@pytest.mark.parametrize(("name", "kept"), [("Sokoban-v0", 1), ("Mastermind-v0", 0)])
def test_lines_of_many_names_are_not_kept(name, kept):
    env = make(name, response_format="plain")
    env.reset(seed=0)
    LINES.clear()
    observation, *_ = env.step(env.legal_actions[0])
    assert len(LINES) == kept
    assert observation.startswith(f"Done: {env.legal_actions[0]}. Reward: ")


def test_an_action_that_ends_with_a_stop_gets_no_further_one():
    names = ("Is it big?", "Tell me.", "Now!", "a dog", "\u2026")
    for place, told in enumerate(("Is it big?", "Tell me.", "Now!", "a dog.", "\u2026.")):
        turn = names, (place,), 0, True, True, -1, 4, 9
        assert feedback(turn) == f"Done: {told} Reward: -0.01. Remaining: 4 turns, 9 actions."
    assert feedback((names, (3, 0), 0, True, False, 0, 4, 9)).startswith(
        "Done: a dog, Is it big? What is not an action was skipped. Reward: 0."
    )
    assert feedback((names, (), 0, True, False, 0, 4, 9)).startswith("Done: nothing. What")


def test_the_form_of_an_answer_needs_no_possessive_group():
    # Python 3.11.0 to 3.11.4, such as that of Debian 12, match none: CPython issue 106052.
    assert not re.search(r"\)[*+?]\+", protocol._TEXT)
