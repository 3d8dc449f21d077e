"""Conversations with calls: valid for OpenAI's protocol and for templates, and nothing is lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from transformers import AutoTokenizer

from ragen_bench.errors import UserError
from ragen_bench.models import Request, Sampling, ask_all
from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import make_chat
from ragen_bench.models.chat_messages import SEE_LAST, functions_of, with_tool_calls
from ragen_bench.models.hf.model import HFModel
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env
from ragen_envs.core.tool_calls import Call, as_text

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
                    Call, st.text(max_size=5), st.dictionaries(st.text(max_size=5), st.text())
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
            m["content"],
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
