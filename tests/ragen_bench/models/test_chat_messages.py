"""Conversations with calls: valid for OpenAI's protocol and for templates, and nothing is lost."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from transformers import AutoTokenizer

from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Request, Sampling, ask_all
from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import make_chat
from ragen_bench.models.chat_messages import (
    SEE_LAST,
    UNSHOWN,
    RefusedConversationError,
    functions_of,
    names_of,
    with_tool_calls,
)
from ragen_bench.models.hf.model import HFModel
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env
from ragen_envs.core.tool_calls import Call, as_text

from .families import FAMILIES
from .hf_models import save_tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
MESSAGE = TypeAdapter(ChatCompletionMessageParam)
answers = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.builds(
            as_text,
            st.lists(
                st.builds(
                    Call,
                    st.text(max_size=5) | st.just("act"),
                    st.dictionaries(st.text(max_size=5), st.text()),
                ),
                min_size=1,
                max_size=3,
            ),
            st.text(max_size=20),
        ),
    ),
    max_size=4,
)
TEMPLATE = """\
{%- if tools %}<|im_start|>tools
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", \
"arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


@given(answers)
def test_what_is_sent_is_of_the_protocol_and_holds_all_that_was_said(said):
    observations = [f"observation {number}" for number in range(len(said) + 1)]
    messages = conversation(observations, said, "tools")
    sent = with_tool_calls(messages, as_json=True)
    for message in sent:
        MESSAGE.validate_python(message)
    results = [m["content"] for m in sent if m["role"] in ("user", "tool")]
    assert [text for text in results if text != SEE_LAST] == [
        m["content"] for m in messages if m["role"] == "user"
    ]
    called, answered = (
        [call["id"] for m in sent for call in m.get("tool_calls", [])],
        [m["tool_call_id"] for m in sent if m["role"] == "tool"],
    )
    assert called == answered
    assert len(set(called)) == len(called)
    again = [
        as_text(
            [Call(c["function"]["name"], c["function"]["arguments"]) for c in m["tool_calls"]],
            m["content"] or "",
        )
        if "tool_calls" in m
        else m["content"]
        for m in sent
        if m["role"] == "assistant"
    ]
    assert again == said


def test_a_turn_of_two_calls():
    calls = as_text([Call("act", {"actions": ["Up"]}), Call("act", {"actions": ["Left"]})], "Go.")
    *_, answer, first, last = with_tool_calls(
        conversation(["a", "b"], [calls], "tools"), as_json=False
    )
    assert answer == {
        "role": "assistant",
        "content": "Go.",
        "tool_calls": [
            {
                "id": "call00200",
                "type": "function",
                "function": {"name": "act", "arguments": {"actions": ["Up"]}},
            },
            {
                "id": "call00201",
                "type": "function",
                "function": {"name": "act", "arguments": {"actions": ["Left"]}},
            },
        ],
    }
    assert first == {"role": "tool", "tool_call_id": "call00200", "content": SEE_LAST}
    assert last == {"role": "tool", "tool_call_id": "call00201", "content": "b"}


def started(form):
    env = make_env("ragen/Sokoban-v0", "val", form)
    env.reset(seed=0)
    return env


def test_functions_are_offered_in_the_form_tools_alone():
    assert functions_of(started("think")) == []
    [function] = functions_of(started("tools"))
    assert function["function"]["name"] == "act"


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(converted_folder())


def test_a_template_tells_the_model_of_the_functions_and_of_its_calls(tokenizer):
    tokenizer.chat_template = TEMPLATE
    chat = make_chat("mine", tokenizer)
    assert chat.supports_tools
    functions = functions_of(started("tools"))
    answer = as_text([Call("act", {"actions": ["Up"]})], "Up it is.")
    prompt = chat.render(conversation(["first", "second"], [answer], "tools"), functions)
    told = prompt.partition("tools\n")[2].partition("<|im_end|>")[0]
    assert json.loads(told) == functions
    assert prompt.endswith(
        f"<|im_start|>assistant\n{answer.replace(chr(10), '')}<|im_end|>\n"
        "<|im_start|>tool\nsecond<|im_end|>\n<|im_start|>assistant\n"
    )
    assert "tools\n" not in chat.render(conversation(["first"], [], "think"))


def test_a_template_without_functions_is_refused():
    chat = make_chat("bundled", AutoTokenizer.from_pretrained(converted_folder()))
    assert not chat.supports_tools
    with pytest.raises(UserError, match="does not describe functions; remove --format tools"):
        chat.render(conversation(["first"], [], "tools"), functions_of(started("tools")))


def test_a_model_in_process_reads_the_functions(tmp_path):
    folder = save_tiny(tmp_path)
    sampling = Sampling(temperature=0, max_tokens=4, stop="", seed=0)
    request = Request(conversation(["first"], [], "tools"), "key", started("tools"))
    with pytest.raises(UserError, match="does not describe functions"):
        ask_all(HFModel(str(folder)), [request], sampling)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    model = HFModel(str(folder))
    [answer] = ask_all(model, [request], sampling)
    prompt = make_chat("mine", AutoTokenizer.from_pretrained(folder)).tokenize(
        request.messages, functions_of(request.env)
    )
    assert answer.prompt_tokens == len(prompt)
    assert answer.completion_tokens == 4


ACT = Call("act", {"actions": ["Up"]})
BROKEN = {
    "cut": [Call("act", '{"actions": ["Up", "Le')],
    "empty": [Call("act", "")],
    "a list": [Call("act", '["Up"]')],
    "a string": [Call("act", '"Up"')],
    "a number": [Call("act", "7")],
    "not a number": [Call("act", "NaN")],
    "not a number inside": [Call("act", '{"actions": NaN}')],
    "infinite": [Call("act", '{"actions": [1e999]}')],
    "a key twice": [Call("act", '{"actions": ["Up"], "actions": ["Left"]}')],
    "text behind": [Call("act", '{"actions": ["Up"]} and on')],
    "deep": [Call("act", '{"actions": ' + "[" * 400 + "]" * 400 + "}")],
    "deeper": [Call("act", "[" * 100_000)],
    "not offered": [Call("look", {})],
    "no name": [Call("", {})],
    "a name of marks": [Call("<|im_end|>", {})],
    "a long name": [Call("a" * 65, {})],
    "a surrogate": [Call("act\ud800", {})],
    "one of two": [ACT, Call("act", '{"actions": ["Up", "Le')],
    "one unknown": [Call("look", {}), ACT],
}


@pytest.mark.parametrize("written", ["<|python_tag|>", ""])
def test_a_model_in_process_calls_in_the_form_of_its_template(written, tmp_path, monkeypatch):
    folder = save_tiny(tmp_path, max_position_embeddings=2048)
    (folder / "chat_template.jinja").write_text(FAMILIES["llama3"].tokenizer().chat_template)
    text = f'{written}{{"name": "act", "parameters": {{"actions": ["Up"]}}}}'
    monkeypatch.setattr(Ending, "make_completion", lambda *_: Completion(text, 1, 1))
    env = started("tools")
    request = Request(conversation(["first"], [], "tools"), "key", env)
    [answer] = ask_all(HFModel(str(folder)), [request], Sampling(0, 4, "", 0))
    assert answer.text == as_text([ACT])
    assert env.read(answer.text)[0].actions_valid


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_call_stands_as_text_in_the_next_request(name):
    env = started("tools")
    answer = as_text(BROKEN[name], "Let me see.")
    messages = conversation(["a", "b", "c"], [answer, as_text([ACT])], "tools")
    sent = with_tool_calls(messages, as_json=True, names=names_of(env))
    assert [message["role"] for message in sent[2:]] == ["assistant", "user", "assistant", "tool"]
    assert sent[2] == {"role": "assistant", "content": answer}
    for message in sent:
        MESSAGE.validate_python(message)
    [call] = sent[4]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == ACT.arguments
    assert not env.read(answer)[0].format_valid


def test_a_call_without_words_has_no_text():
    [*_, answer, _] = with_tool_calls(
        conversation(["a", "b"], [as_text([ACT])], "tools"), as_json=True
    )
    assert answer["content"] is None


HEAD = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% for c in m.tool_calls or [] %}"
TAIL = "{% endfor %}{% endfor %}{{ tools | tojson if tools else '' }}"
TEMPLATES = {
    "items": "<f={{ c.function.name }}>{% for k, v in c.function.arguments | items %}<p={{ k }}>"
    "{{ v if v is string else v | tojson }}</p>{% endfor %}</f>",
    "method": "<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<p={{ k }}>"
    "{{ v if v is string else v | tojson }}</p>{% endfor %}</f>",
    "tojson": '<call>{"name": "{{ c.function.name }}", "arguments": '
    "{{ c.function.arguments | tojson }}}</call>",
    "text": "<call>{{ c.function.name }}<json>{{ '' + c.function.arguments }}</call>",
    "id": "<call>{{ c.id }}<json>{{ c.function.arguments | tojson }}</call>",
    "one": "{% if m.tool_calls | length > 1 %}{{ raise_exception('One call.') }}{% endif %}"
    "<call>{{ c.function.name }}<json>{{ c.function.arguments | tojson }}</call>",
    "strict": "{% if m.content %}{{ raise_exception('No words.') }}{% endif %}"
    "<call>{{ c.function.name }}<json>{{ c.function.arguments | tojson }}</call>",
    "a list": "{% if c.function.arguments.actions is string %}{{ raise_exception('A list!') }}"
    "{% endif %}<call>{{ c.function.name }}<json>{{ c.function.arguments | tojson }}</call>",
}
PIECES = (
    *("<tool_call>", "</tool_call>", '{"name": "act", "arguments": {"actions": ["Up"]}}'),
    *('{"actions": ["Up"', "<|im_end|>", "{% raw %}", "{{ 1 / 0 }}", "<think>", "\ud800", "\0"),
    *("}" * 9000, "<call>act<json>", "</call>", "<f=act><p=actions>", "</p></f>"),
)
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=9)), max_size=8).map("".join)


@pytest.mark.parametrize("name", TEMPLATES)
@given(texts=st.lists(st.one_of(TEXTS, st.sampled_from([as_text(c) for c in BROKEN.values()]))))
def test_no_answer_ends_a_run(name, texts):
    """Whatever a model answers, each form of template shows the next turn."""
    chat = chats()[name]
    functions = functions_of(started("tools"))
    texts = [chat.read(text, functions) for text in [*texts, as_text([ACT, ACT], "Go.")]]
    observations = [f"observation {number}" for number in range(len(texts) + 1)]
    ids = chat.tokenize(conversation(observations, texts, "tools"), functions)
    shown = chat.tokenizer.decode(ids)
    assert all(observation in shown for observation in observations)


@cache
def chats():
    made = {}
    for name, form in TEMPLATES.items():
        tokenizer = FAMILIES["qwen3"].tokenizer()
        tokenizer.chat_template = HEAD + form + TAIL
        made[name] = make_chat(name, tokenizer)
        assert made[name].call_form, name
    return made


def test_an_answer_that_the_template_refuses_is_left_out():
    tokenizer = FAMILIES["qwen3"].tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{% if 'No' in m.content %}{{ raise_exception('No!') }}{% endif %}"
        "[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    )
    chat = make_chat("mine", tokenizer)
    text = chat.render(conversation(["a", "b", "c"], ["No.", "Up"], "plain"))
    assert text.endswith(f"a\n[assistant] {UNSHOWN}\n[user] b\n[assistant] Up\n[user] c\n")
    with pytest.raises(RefusedConversationError, match="No!"):
        chat.render(conversation(["No", "b"], ["Up"], "plain"))
