# ruff: noqa: RUF001  (marks of models have such letters)
"""Calls in the forms of model families: read as templates show them, and as models vary them."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.models.chat import make_chat
from ragen_bench.models.prompt import conversation
from ragen_envs.core.tool_calls import Call, as_text, parse_calls
from tests.growth import LINEAR, growth

from .families import FAMILIES, LOOK
from .families.other_calls import OTHERS, make_other

CALLING = {name: family for name, family in FAMILIES.items() if family.call}
CHATS = {name: make_chat(name, family.tokenizer()) for name, family in FAMILIES.items()}
ALL = pytest.mark.parametrize("name", CALLING)
LOOKED = Call("look", {"place": "door", "times": 2})


def read(name, text):
    return CHATS[name].read(text, [LOOK])


@ALL
def test_a_call_as_its_family_writes_it(name):
    assert read(name, CALLING[name].call) == as_text([LOOKED])


@ALL
def test_a_call_behind_words_or_a_thought(name):
    family = CALLING[name]
    assert read(name, f"I look.\n{family.call}") == as_text([LOOKED], "I look.")
    if family.thought:
        said = family.thought.format(f"I could write {family.call} here.") + family.call
        answer = parse_calls(read(name, said))
        assert answer.calls == [LOOKED]
        before = said.replace("<tool_call>", " ").removesuffix(family.call)
        assert blank(before).removesuffix("<|start|>assistant").startswith(blank(answer.thought))
        assert answer.thought.count("I could write") == 1


@ALL
@pytest.mark.parametrize("cut", range(1, 30, 3))
def test_a_cut_call_is_not_read(name, cut):
    whole = CALLING[name].call
    if "times" in whole[:-cut] and read(name, whole[:-cut]) == as_text([LOOKED]):
        assert "2" in whole[:-cut]  # only marks are lacking
    else:
        assert read(name, whole[:-cut]) == whole[:-cut]


@ALL
def test_other_text_is_not_a_call(name):
    for text in ("", "Up", 'look(place="door")', "<tool_call>", f"{CALLING[name].call} and more"):
        assert read(name, text) == text


@ALL
def test_a_template_shows_what_the_model_wrote(name):
    """The prompt of the next turn holds the call in the family's form, but for the id."""
    answer = read(name, CALLING[name].call)
    text = CHATS[name].render(conversation(["one", "two"], [answer], "tools"), [LOOK])
    call = CALLING[name].call
    if name == "gpt-oss":  # models write the channel before the function, and templates behind it
        call = call.partition("<|message|>")[2]
    assert blank(call) in blank(text)


def blank(text):
    return re.sub(r"call\d{5}|\s", "", text)


VARIANTS = {
    "llama3": [
        '<|python_tag|>{"name": "look", "parameters": {"place": "door", "times": 2}}',
        '{"type": "function", "name": "look", "parameters": {"place": "door", "times": 2}}',
        'I look.\n{"name": "look", "arguments": {"times": 2, "place": "door"}}',
    ],
    "llama4": ["[look(times=2, place='door')]"],
    "mistral": ['[TOOL_CALLS][{"name": "look", "arguments": {"place": "door", "times": 2}}]'],
    "qwen3": [
        '<tool_call>{"id": 7, "name": "look", "arguments": {"place": "door", "times": 2}}'
        "</tool_call>",
        'In <tool_call> tags.\n<tool_call>\n{"arguments": {"place": "door", "times": 2}, '
        '"name": "look"}\n</tool_call>',
        '<tool_call>{"name": "look", "arguments": "{\\"place\\": \\"door\\", \\"times\\": 2}"}'
        "</tool_call>",
    ],
    "deepseek-r1": [
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n"
        '{"place": "door", "times": 2}\n```<｜tool▁call▁end｜>'
    ],
    "kimi": [
        "<|tool_call_begin|>functions.look:12<|tool_call_argument_begin|>"
        '{"place": "door", "times": 2}<|tool_call_end|>'
    ],
    "gpt-oss": [
        "<|start|>assistant to=functions.look<|channel|>commentary json<|message|>"
        '{"place": "door", "times": 2}<|call|>',
        '<|channel|>commentary to=functions.look<|message|>{"place": "door", "times": 2}',
    ],
    "glm4": [
        "<tool_call>look<arg_key>place</arg_key><arg_value>door</arg_value>"
        "<arg_key>times</arg_key><arg_value>2</arg_value></tool_call>"
    ],
    "seed-oss": [
        "<seed:tool_call><function=look><parameter=times>\n2\n</parameter>\n<parameter=place>\n"
        "door\n</parameter>\n</function></seed:tool_call>"
    ],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in VARIANTS.items() for t in texts])
def test_a_call_as_models_vary_it(name, text):
    assert parse_calls(read(name, text)).calls == [LOOKED]


def test_a_form_that_cannot_be_read_is_refused_and_calls_that_are_not_shown_stay_texts():
    tokenizer = FAMILIES["qwen3"].tokenizer()
    head = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n"
    tail = "{% endfor %}{{ tools | tojson if tools else '' }}"
    call = "{% for c in m.tool_calls or [] %}I call {{ c.function.name }} now{% endfor %}"
    answer = as_text([LOOKED], "I look.")
    messages = conversation(["one", "two"], [answer], "tools")
    tokenizer.chat_template = head + tail
    text = make_chat("mine", tokenizer).render(messages, [LOOK])
    assert f"[assistant] {answer}\n[user] two" in text
    tokenizer.chat_template = head + call + tail
    with pytest.raises(UserError, match="in a form that cannot be read; remove --format tools"):
        make_chat("mine", tokenizer).render(messages, [LOOK])


@ALL
def test_two_calls(name):
    """Where the template shows two, what it shows is read; else the turn stays a text."""
    chat = CHATS[name]
    answer = as_text([LOOKED, Call("look", {"place": "wall"})], "I look.")
    messages = conversation(["one", "two"], [answer], "tools")
    text = chat.render(messages, [LOOK])
    assert "wall" in text
    if name in ("llama3", "gpt-oss"):  # which show one call
        return
    start = text.rindex("I look.") if "I look." in text else text.index("one")
    call = re.escape(CALLING[name].call[:6])
    shown = text[start + re.search(call, text[start:]).start() :]
    shown = re.split("What came of|## Return", shown)[0]
    assert parse_calls(read(name, shown)).calls == parse_calls(answer).calls


@pytest.mark.parametrize("name", OTHERS)
def test_forms_of_other_families(name):
    tokenizer, text = make_other(name)
    chat = make_chat("mine", tokenizer)
    looked = as_text([LOOKED], "I look.")
    assert chat.read(f"I look.\n{text}", [LOOK]) == looked
    assert chat.read(f"{text} and more", [LOOK]) == f"{text} and more"
    shown = chat.render(conversation(["one", "two"], [looked], "tools"), [LOOK])
    for said in ("I look.", "look", "place", "door", "times", "2", "two"):
        assert said in shown.partition("one")[2]


@ALL
@given(thought=st.text(max_size=40), word=st.text(max_size=40))
def test_any_text_is_read_or_left(name, thought, word):
    call = CALLING[name].call
    for text in (thought, f"{thought}{call}", call.replace("door", word), call.replace("2", word)):
        assert isinstance(read(name, text), str)


PIECES = ["<", "[", "{", '{"name":', '"a",', "look(", "-", "<tool_call>", " ", "\n", "a", "(", "'"]


@pytest.mark.slow
@ALL
def test_the_cost_of_reading_grows_with_the_text(name):
    call = CALLING[name].call
    for piece in [*PIECES, call[:9], call, call[:-3]]:
        cost = growth(partial(read, name), partial(repeat, piece))
        assert cost < LINEAR, piece


@ALL
def test_calls_before_one_that_cannot_be_read_are_read_once(name):
    """A text of many calls that is cut within a name was read once for each of the first 64."""
    call, form, count = CALLING[name].call, CHATS[name].call_form, Counter()

    def counting(*arguments):
        count["reads"] += 1
        return form.reader(*arguments)

    for cut in range(len(call)):
        count.clear()
        replace(form, reader=counting).read(50 * call + call[:cut] + "~", [LOOK])
        assert count["reads"] <= 3 * 51, call[:cut]


def repeat(piece, length):
    return (piece * (length // len(piece) + 1))[:length] + "~"
