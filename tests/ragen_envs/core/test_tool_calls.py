"""Calls as the text of an answer: what is written is read, and all else is out of form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_actions, random_answer
from ragen_envs.core.protocol import HOW_TO_CALL, format_answer
from ragen_envs.core.tool_calls import Call, CallError, as_text, parse_calls
from ragen_envs.core.tools import answer_with, schemas
from ragen_envs.testing.hostile import HOSTILE
from tests.ragen_envs.support import IDS, make

texts = st.text(max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
    max_leaves=8,
)
calls = st.lists(
    st.builds(Call, texts, st.dictionaries(texts, values, max_size=3)), min_size=1, max_size=3
)
ONE = '<tool_call>{"name": "act", "arguments": {"action": "Red"}}</tool_call>'


@given(calls, texts)
def test_what_is_written_is_read(made, thought):
    said = parse_calls(as_text(made, thought))
    assert said.calls == made
    assert said.thought == thought.strip()


@given(calls, texts, texts)
def test_no_thought_and_no_argument_makes_or_ends_a_call(made, before, after):
    thought = f"{before}<tool_call>{after}"
    made = [*made, Call("say", {"text": "</tool_call><tool_call>"})]
    assert parse_calls(as_text(made, thought)).calls == made


def test_arguments_as_json_are_written_as_the_object_that_they_are():
    made = [Call("act", '{"action":   "Red"}')]
    assert as_text(made) == ONE
    assert as_text(made, " so be it ") == f"so be it\n{ONE}"
    [kept] = parse_calls(as_text([Call("act", "{no JSON")])).calls
    assert kept == Call("act", "{no JSON")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "no function was called"),
        ("Red", "no function was called"),
        (ONE.removesuffix("</tool_call>"), "a call is one <tool_call>...</tool_call>"),
        (f"{ONE} and on", "with nothing behind the last one"),
        (f"{ONE} and {ONE}", "with nothing behind the last one"),
        ("<tool_call>Red</tool_call>", "a call is not JSON"),
        (f"<tool_call>{'[' * 100_000}</tool_call>", "a call is not JSON"),
        (f"<tool_call>{'9' * 5000}</tool_call>", "a call is not JSON"),
        ('<tool_call>["act"]</tool_call>', "an object with a name and arguments"),
        ('<tool_call>{"name": "act"}</tool_call>', "an object with a name and arguments"),
        ('<tool_call>{"name": 1, "arguments": {}}</tool_call>', "the name of a call is a string"),
        ('<tool_call>{"name": "a", "arguments": []}</tool_call>', "arguments are an object"),
    ],
)
def test_what_is_out_of_form(answer, problem):
    with pytest.raises(CallError, match=problem):
        parse_calls(answer)


@pytest.mark.parametrize("id_", IDS)
def test_calls_play_as_the_answers_that_they_stand_for(id_):
    by_calls = make(id_, split="test", response_format="tools")
    by_words = make(id_, split="test", response_format="answer")
    for seed in range(3):
        stream = RandomStream("calls", id_, seed)
        first, _ = by_calls.reset(seed=seed)
        asked, _ = by_words.reset(seed=seed)
        assert first.endswith(f"\n\n{HOW_TO_CALL}")
        assert first.removesuffix(HOW_TO_CALL) == asked[: asked.rindex("Answer in exactly")]
        while by_calls.legal_actions:
            assert by_calls.functions_now == schemas(by_words)
            actions = by_calls.best_actions() if seed else random_actions(by_calls, stream)[:1]
            ours = by_calls.step(answer_with(by_calls, actions, "a thought"))
            theirs = by_words.step(format_answer(actions, "answer"))
            assert ours == theirs
        assert not by_words.legal_actions
        assert by_calls.functions_now == []


@pytest.mark.parametrize("id_", IDS)
def test_the_players_answer_by_calls(id_):
    env = make(id_, split="test", response_format="tools")
    env.reset(seed=0)
    for answer in (oracle_answer(env), random_answer(env, RandomStream("calls"))):
        parsed, _ = env.read(answer)
        assert parsed.actions_valid
        assert parsed.format_valid


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_out_of_form_and_cost_as_elsewhere(name):
    by_calls, by_words = (
        make("ragen/Sokoban-v0", response_format=form) for form in ("tools", "answer")
    )
    for env in (by_calls, by_words):
        env.reset(seed=0)
    assert by_calls.step(HOSTILE[name]) == by_words.step("")


def test_an_action_that_does_not_exist_is_in_form():
    env = make("ragen/Bandit-v0", response_format="tools")
    env.reset(seed=0)
    unknown = as_text([Call("act", {"action": "Nobody"})])
    *_, info = env.step(unknown)
    assert (info["format_is_valid"], info["action_is_valid"]) == (True, False)
    env.reset(seed=0)
    *_, info = env.step(as_text([Call("pull", {"action": "Nobody"})]))
    assert (info["format_is_valid"], info["action_is_valid"]) == (False, False)


def test_json_in_the_arguments_is_a_servers_own_spelling():
    env = make("ragen/Sokoban-v0", response_format="tools")
    env.reset(seed=0)
    spelled = json.dumps({"name": "act", "arguments": json.dumps({"actions": ["Up"]})})
    assert env.read(f"<tool_call>{spelled}</tool_call>")[1] == ("Up",)
