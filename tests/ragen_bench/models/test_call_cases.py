"""Calls of all families: several, within thoughts, cut, and with any arguments."""

import json
import re

import pytest

from ragen_bench.models import Completion
from ragen_bench.models.chat import make_chat
from ragen_bench.models.chat_marks import remove_guards
from ragen_bench.models.chat_messages import SEE_LAST
from ragen_bench.models.reasoning import read_thoughts
from ragen_bench.models.thinking_marks import find_marks, parse_marks
from ragen_envs.core.tool_calls import Call, as_text, parse_calls

from .families import FAMILIES, LOOK
from .families.other_calls import OTHERS, make_other

KNOWN = {name: (family.tokenizer(), family.call) for name, family in FAMILIES.items()}
KNOWN = {name: known for name, known in KNOWN.items() if known[1]}
KNOWN |= {name: make_other(name) for name in OTHERS}
CHATS = {name: make_chat(name, tokenizer) for name, (tokenizer, _) in KNOWN.items()}
TEXTS = {name: text for name, (_, text) in KNOWN.items()}
ALL = pytest.mark.parametrize("name", KNOWN)
DOOR, WALL = (
    Call("look", {"place": "door", "times": 2}),
    Call("look", {"place": "wall", "times": 2}),
)
ARGUMENTS = {
    "empty": {},
    "an empty text": {"place": ""},
    "marks": {"place": "</tool_call> <tool_call> [TOOL_CALLS] </answer> <|tool_call|>"},
    "a thought": {"place": "<think> here </think> there [/THINK]"},
    "JSON in a text": {"place": json.dumps({"name": "look", "arguments": {"place": "x"}})},
    "letters": {"place": "дверь 门 🚪 é"},
    "quotes": {"place": "a \"b\" \\\\ 'c'"},
    "a line end": {"place": "a\nb"},
    "brackets": {"place": "}]) ({[ ,"},
    "a number as a text": {"place": "12"},
    "a comma": {"place": "a, times=3"},
    "a negative number": {"times": -3},
    "a list": {"items": ["Up", "Left, down", "a]"]},
    "an object": {"about": {"a": [1, 2.5, None, True], "b": {"c": "}"}}},
}


def read(name, text, functions=(LOOK,)):
    return CHATS[name].read(text, functions)


def calls_in(text):
    return parse_calls(text).calls


def write(name, calls):
    """Return calls as a family's template shows them, which is as its model writes them."""
    if name == "gpt-oss":
        begin = TEXTS[name].partition("{")[0]
        return "<|call|><|start|>assistant".join(begin + json.dumps(c.arguments) for c in calls)
    chat = CHATS[name]
    roles = ("user", "assistant", "user")
    said = zip(roles, ("FIRST", as_text(calls), "SECOND"), strict=True)
    messages = [{"role": role, "content": text} for role, text in said]
    text = remove_guards(chat.render(messages, [LOOK])).rpartition("FIRST")[2]
    shown = text[text.index(TEXTS[name][:5]) :]
    return re.split(f"{SEE_LAST}|SECOND|## Return", shown)[0]


@ALL
@pytest.mark.parametrize("case", ARGUMENTS)
def test_any_arguments(name, case):
    if name == "functiongemma" and case in ("a list", "an object"):
        return  # whose template here shows flat values
    call = Call("look", ARGUMENTS[case])
    function = json.loads(json.dumps(LOOK))
    function["function"]["parameters"]["properties"] |= {
        "items": {"type": "array"},
        "about": {"type": "object"},
    }
    assert calls_in(read(name, write(name, [call]), [function])) == [call]
    if CHATS[name].call_form.has_several:
        for calls in ([call, DOOR], [DOOR, call], [DOOR, call, WALL]):
            assert calls_in(read(name, write(name, calls), [function])) == calls


@ALL
@pytest.mark.parametrize("between", ["", "\n", "\n\n", " ", ", ", ";\n"])
def test_whole_calls_one_after_another_are_all_read(name, between):
    one, other = TEXTS[name], TEXTS[name].replace("door", "wall")
    assert read(name, one + between + other) == as_text([DOOR, WALL])
    three = between.join([one, other, one])
    assert read(name, f"I look.\n{three}") == as_text([DOOR, WALL, DOOR], "I look.")


@ALL
def test_texts_between_calls_belong_to_the_thought(name):
    one, other = TEXTS[name], TEXTS[name].replace("door", "wall")
    text = f"First the door.\n{one}\nThen the wall.\n{other}"
    assert read(name, text) == as_text([DOOR, WALL], "First the door.\nThen the wall.")
    text = f"{one}{other} Done."
    assert read(name, text) == text


@ALL
def test_a_call_behind_a_whole_one_is_cut(name):
    one, other = TEXTS[name], TEXTS[name].replace("door", "wall")
    cut = f"{one}\n{other[: other.index('wall') + 2]}"
    assert read(name, cut) == cut


@ALL
def test_a_call_within_a_thought_is_a_part_of_it(name):
    text = TEXTS[name]
    marks = find_marks(str(CHATS[name].tokenizer.chat_template), CHATS[name].tokenizer.get_vocab())
    for inner in (text, f"{text} here.", f"{text}\n{text.replace('door', 'wall')}"):
        thought = f"{marks.begin}I could write {inner}{marks.end or marks.answer}"
        assert calls_in(read(name, f"{thought}\n{text}")) == [DOOR]
        made = read_completion(name, f"{thought}\n{text}", marks)
        assert made.text == as_text([DOOR])
        assert made.reasoning.startswith("I could write")
        assert not re.search(r"\bwall\b", made.text)
    two = f"{marks.begin}a{marks.end or marks.answer}{text}"
    if marks.end:
        two += f"{marks.begin}b{marks.end}{text.replace('door', 'wall')}"
        assert read_completion(name, two, marks).text == as_text([DOOR, WALL])


def read_completion(name, text, marks):
    made = read_thoughts(Completion(text, 5, 9), "tools", marks)
    return CHATS[name].read_completion(made, [LOOK], marks)


@pytest.mark.parametrize("name", ["granite32", "gpt-oss"])
def test_a_call_ends_a_thought_that_nothing_else_ended(name):
    marks = parse_marks("granite" if name == "granite32" else name)
    text = TEXTS[name]
    made = read_completion(name, f"{marks.begin}\nI look.\n{text}", marks)
    assert (made.text, made.reasoning) == (as_text([DOOR]), "I look.")
    said = f"{marks.begin}I could write {text} here. So I look.\n{text}"
    made = read_completion(name, said, marks)
    assert made.text == as_text([DOOR])
    assert made.reasoning.startswith("I could write")
    assert made.reasoning.endswith("here. So I look.")
    two = f"{marks.begin}I look.\n{text}{text.replace('door', 'wall')}"
    assert read_completion(name, two, marks).text == as_text([DOOR, WALL])
    for other in (f"{marks.begin}I look.", f"{marks.begin}I look.\n{text} and more"):
        assert read_completion(name, other, marks).text == ""


def test_a_call_within_an_unclosed_thought_of_another_family_is_not_made():
    text = TEXTS["qwen3"]
    assert read_completion("qwen3", f"<think>I could write {text}", parse_marks("think")).text == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\na\n</think>\n<answer>\nUp\n</answer>", "Up"),
        ("<answer>Up || Left</answer>\n", "Up || Left"),
        ("<think>a</think><answer>\nUp", "Up"),
        ("<think>a</think>Up", "Up"),
        ("<think>a</think>It is <answer>Up</answer>", "It is <answer>Up</answer>"),
    ],
)
def test_hunyuans_own_tags_in_the_format_plain(text, said):
    made = read_thoughts(Completion(text), "plain", parse_marks("hunyuan"))
    assert made.text == said
    assert made.reasoning == ("a" if "think" in text else "")


def test_hunyuans_own_tags_around_a_call():
    marks, text = parse_marks("hunyuan"), TEXTS["qwen3"]
    made = read_completion("qwen3", f"<think>a</think>\n<answer>\n{text}\n</answer>", marks)
    assert (made.text, made.reasoning) == (as_text([DOOR]), "a")
