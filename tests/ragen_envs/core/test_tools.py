"""Actions as functions: what is offered, and which answers calls stand for."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_actions
from ragen_envs.core.protocol import HOW_TO_CALL, RESPONSE_FORMATS, format_answer
from ragen_envs.core.tool_calls import Call, CallError
from ragen_envs.core.tools import (
    OUT_OF_FORM,
    answer_of,
    calls_of,
    schemas,
)
from ragen_envs.testing.hostile import HOSTILE
from tests.ragen_envs.support import IDS, make

OPENAI = TypeAdapter(ChatCompletionFunctionToolParam)
SEVERAL, ONE, FREE, SHOP = (
    f"ragen/{name}" for name in ("Sokoban-v0", "Bandit-v0", "TwentyQuestions-v0", "WebShop-v0")
)


def started(id_, response_format="think", seed=0):
    env = make(id_, split="val", response_format=response_format)
    env.reset(seed=seed)
    return env


def parameters(env):
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in schemas(env)}


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
@pytest.mark.parametrize("id_", IDS)
def test_what_players_answer_are_calls_that_the_schemas_allow(id_, response_format):
    env, stream = started(id_, response_format), RandomStream("tools", id_)
    while env.legal_actions:
        for tool in schemas(env):
            assert OPENAI.validate_python(tool, strict=True) == tool
        offered = parameters(env)
        for actions in (random_actions(env, stream), env.best_actions()):
            # In games of one action a turn, several actions are calls of several turns.
            calls = calls_of(env, actions)
            for call in calls:
                jsonschema.Draft202012Validator.check_schema(offered[call.name])
                jsonschema.validate(dict(call.arguments), offered[call.name])
            spelled = [Call(name, json.dumps(arguments)) for name, arguments in calls]
            answer = answer_of(env, spelled)
            assert answer == answer_of(env, calls) == format_answer(actions, response_format)
        env.step(oracle_answer(env))
    assert schemas(env) == []


texts = st.text(max_size=20) | st.sampled_from(sorted(HOSTILE.values(), key=len)[:50])
TAGS = ("<think>", "</think>", "<answer>", "</answer>")


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
@given(
    st.sampled_from([SEVERAL, ONE, FREE, SHOP]),
    st.lists(texts | st.sampled_from([0, 1]), min_size=1, max_size=7),
)
def test_a_call_in_form_is_an_answer_in_form_that_names_its_actions_alone(
    response_format, id_, drawn
):
    env = started(id_, response_format)
    (name, schema), *_ = parameters(env).items()
    (parameter,) = schema["required"]
    items = [env.legal_actions[i] if isinstance(i, int) else i for i in drawn]
    items = items if id_ == SEVERAL else items[:1]
    call = Call(name, {parameter: items if id_ == SEVERAL else items[0]})
    tags = () if response_format == "plain" else TAGS
    unspeakable = tags if id_ == FREE else ("||", *tags)
    if any(text in item for text in unspeakable for item in items):
        with pytest.raises(CallError):
            answer_of(env, [call])
        return
    parsed, named = env.read(answer_of(env, [call]))
    assert parsed.format_valid
    if id_ in (SEVERAL, ONE):
        known = {action.lower(): action for action in env.legal_actions}
        found = [known.get(item.strip().lower()) for item in items]
        assert named == tuple(action for action in found if action)
        assert parsed.actions_valid is (None not in found)
    else:
        assert len(named) == parsed.actions_valid


@pytest.mark.parametrize(
    ("id_", "calls", "message"),
    [
        (SEVERAL, [], "no function was called"),
        (SEVERAL, [Call("move", "{}")], "there is no function 'move'; call act"),
        (SHOP, [Call("act", "{}")], "there is no function 'act'; call search or click"),
        (SEVERAL, [Call("act", "{")], "the arguments of act are not JSON: "),
        (SEVERAL, [Call("act", "[" * 100_000)], "the arguments of act are not JSON: "),
        (SEVERAL, [Call("act", "9" * 5000)], "the arguments of act are not JSON: "),
        (SEVERAL, [Call("act", '["Up"]')], "are an object with 'actions' alone"),
        (SEVERAL, [Call("act", "{}")], "are an object with 'actions' alone"),
        (SEVERAL, [Call("act", {"action": ["Up"]})], "are an object with 'actions' alone"),
        (SEVERAL, [Call("act", {"actions": ["Up"], "x": 1})], "an object with 'actions' alone"),
        (SEVERAL, [Call("act", {"actions": "Up"})], "actions is an array, got str"),
        (SEVERAL, [Call("act", {"actions": ["Up", 1]})], "action is a string, got int"),
        (SEVERAL, [Call("act", {"actions": ["Up || Up"]})], r"action is one action, without \|\|"),
        (SEVERAL, [Call("act", {"actions": ["</answer>"]})], "holds a tag of the answer's form"),
        (ONE, [Call("act", {"action": ["Up"]})], "action is a string, got list"),
        (ONE, [Call("act", {"action": "a"})] * 2, "one call a turn, got 2"),
    ],
)
def test_calls_out_of_form(id_, calls, message):
    with pytest.raises(CallError, match=message):
        answer_of(started(id_), calls)


def test_a_wrong_action_is_in_form_and_the_game_judges_it():
    env = started(SEVERAL)
    for actions in (["Jump"], []):
        _, reward, *_, info = env.step(answer_of(env, [Call("act", {"actions": actions})]))
        assert (info["format_is_valid"], info["action_is_valid"]) == (True, False)
        assert reward == -0.1
    env = started(SHOP)
    # The page offers nothing to click yet; the shop has the function all the same.
    assert [*parameters(env)] == ["search"]
    info = env.step(answer_of(env, [Call("click", {"label": "buy now"})]))[4]
    assert (info["format_is_valid"], info["action_is_valid"]) == (True, False)
    env.step(oracle_answer(env))
    assert [*parameters(env)] == ["click"]


def test_several_calls_run_one_after_the_other():
    env = started(SEVERAL, "plain")
    calls = [Call("act", '{"actions": ["Up", "Left"]}'), Call("act", {"actions": ["Down"]})]
    assert answer_of(env, calls) == "Up || Left || Down"


PIECES = ("<think>", "</answer>", "<", "/", "think>", "answer>", "</", "a")


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_a_thought_breaks_no_form(thought):
    env = started(ONE)
    answer = answer_of(env, calls_of(env, env.best_actions()), thought)
    assert env.read(answer) == env.read(oracle_answer(env))


def test_a_question_may_hold_what_separates_actions_elsewhere():
    env = started(FREE, "plain")
    assert answer_of(env, [Call("ask", {"question": "Is it a || b?"})]) == "Is it a || b?"


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
@pytest.mark.parametrize("id_", IDS)
def test_what_is_played_for_calls_out_of_form_runs_nothing_and_costs_the_penalty(
    id_, response_format
):
    env = make(id_, response_format=response_format, render_mode="ansi")
    env.reset(seed=0)
    before = env.render()
    observation, reward, *_, info = env.step(OUT_OF_FORM)
    assert observation.startswith(("Done: nothing.", "The answer was not in the required form"))
    assert (env.render(), env.actions_left) == (before, env.budget.max_actions)
    assert (reward, info["action_is_valid"]) == (-env.budget.penalty / 100, False)


@pytest.mark.parametrize("id_", IDS)
def test_what_is_said_of_fixed_actions(id_):
    listed = set()
    for seed in range(4):
        env = started(id_, seed=seed)
        while env.legal_actions:
            listed.add(env.legal_actions)
            env.step(oracle_answer(env))
    assert (len(listed) == 1) is env.has_fixed_actions


def test_the_first_observation_asks_for_calls():
    asked = make(SEVERAL, response_format="tools").reset(seed=0)[0]
    assert asked.endswith(f"######\n\n{HOW_TO_CALL}")
    assert "ACTION" not in asked


def test_an_action_of_another_game_is_no_call():
    with pytest.raises(ValueError, match=r"^'Up' is not a call of search or click$"):
        calls_of(started(SHOP), ["Up"])
