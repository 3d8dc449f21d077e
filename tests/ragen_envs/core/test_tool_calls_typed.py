"""Functions with typed arguments: the text of a call, its schema, and calls out of form."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.tool_calls import (
    Call,
    CallError,
    Parameter,
    TypedFunction,
    convert_arguments,
    read_call,
    write_call,
)
from ragen_envs.core.tools import answer_of, calls_of, schemas
from ragen_envs.testing.hostile import HOSTILE
from tests.ragen_envs.support import make

DAY = Parameter("day", "A day.", choices=("Monday", "Friday"))
FUNCTION = TypedFunction(
    "put",
    "Put it.",
    (
        Parameter("what", "A name.", pattern="[a-z ]{1,9}"),
        DAY,
        Parameter("count", "How many.", most=99),
    ),
)
NONE = TypedFunction("stop", "Stop.")

words = st.text("abc xyz", min_size=1, max_size=9).map(str.strip).filter(bool)
arguments = st.fixed_dictionaries(
    {"what": words, "day": st.sampled_from(DAY.choices), "count": st.integers(1, 99).map(str)}
)


@given(arguments, st.permutations(["what", "day", "count"]), st.sampled_from([" ", "  "]))
def test_a_call_reads_as_it_was_written_in_any_order(values, order, blank):
    assert read_call(FUNCTION, write_call(FUNCTION, values)) == values
    text = blank.join(["PUT", *(f"{name.upper()} = {values[name]}" for name in order)])
    assert read_call(FUNCTION, text) == values
    assert convert_arguments(FUNCTION, values) == {**values, "count": int(values["count"])}
    jsonschema.validate(convert_arguments(FUNCTION, values), FUNCTION.schema)


@pytest.mark.parametrize(
    "text",
    [
        "put",
        "put what=a day=Friday",
        "put what=a day=Friday count=1 count=2",
        "put what=a day=Friday count=1 more=2",
        "put what=a day=Friday count=",
        "put what= day=Friday count=1",
        "put =a day=Friday count=1",
        "put what=a=b day=Friday count=1",
        "puts what=a day=Friday count=1",
        "what=a day=Friday count=1",
    ],
)
def test_what_is_no_call_of_a_function(text):
    assert read_call(FUNCTION, text) is None


def test_a_function_without_arguments():
    assert read_call(NONE, " Stop ") == {}
    assert read_call(NONE, "stop now") is None
    assert read_call(NONE, "stop a=1") is None
    assert write_call(NONE, {}) == "stop"
    assert NONE.schema["required"] == []


@given(
    st.text() | st.text("put what=day count", max_size=60) | st.sampled_from([*HOSTILE.values()])
)
def test_any_text_can_be_read(text):
    found = read_call(FUNCTION, text)
    assert found is None or set(found) == {"what", "day", "count"}
    assert read_call(FUNCTION, f"put {text}") is None or "=" in text


def test_schemas_name_types_and_bounds():
    for schema in (FUNCTION.schema, NONE.schema):
        jsonschema.Draft202012Validator.check_schema(schema)
    assert FUNCTION.schema["properties"] == {
        "what": {"type": "string", "pattern": "^[a-z ]{1,9}$", "description": "A name."},
        "day": {"type": "string", "enum": ["Monday", "Friday"], "description": "A day."},
        "count": {"type": "integer", "minimum": 1, "maximum": 99, "description": "How many."},
    }


@given(st.from_regex(f"{FUNCTION.form}|{NONE.form}", fullmatch=True))
def test_what_has_the_form_is_a_call(text):
    found = read_call(FUNCTION, text)
    if text == "stop":
        assert read_call(NONE, text) == {}
    elif found is None:
        assert "what=" + " " * 9 in text.replace(" day", "         ")  # a name of blanks alone
    else:
        assert 1 <= int(found["count"]) <= 99


@pytest.mark.parametrize(("most", "form"), [(9, 0), (10, 0), (98, 0), (99, 1), (100, 1), (999, 2)])
def test_numbers_of_the_form_are_never_too_large(most, form):
    assert Parameter("n", "N.", most=most).form == f"[1-9][0-9]{{0,{form}}}"


def started(form="think"):
    env = make("Desk-v0", split="val", response_format=form)
    env.reset(seed=0)
    return env


def test_native_calls_and_texts_stand_for_each_other():
    env = started()
    assert [tool["function"]["name"] for tool in schemas(env)] == [
        *("list", "read", "ask", "send", "reply", "schedule", "move", "cancel", "change_order"),
        *("move_file", "enter", "add_contact", "done"),
    ]
    action = "change_order order=O3 boxes=40"
    [call] = calls_of(env, [action])
    assert call == Call("change_order", {"order": "O3", "boxes": 40})
    assert calls_of(env, ["done"]) == [Call("done", {})]
    spelled = Call("change_order", json.dumps(call.arguments))
    for each in (call, spelled):
        assert answer_of(env, [each], "so") == f"<think>so</think><answer>{action}</answer>"
    in_tools = started("tools")
    assert in_tools.read(answer_of(in_tools, [call]))[1] == (action,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Call("cancel", {}), "the arguments of cancel are an object with 'id' alone"),
        (Call("done", {"x": 1}), "the arguments of done are an object with nothing alone"),
        (Call("cancel", "[]"), "cancel: no object"),
        (Call("cancel", "{"), "the arguments of cancel are not JSON"),
        (Call("cancel", {"id": 3}), "id is a string, got int"),
        (Call("cancel", {"id": "E1 x=2"}), "id holds '=', which no value does"),
        (Call("cancel", {"id": "E1 || done"}), r"id is one action, without \|\|"),
        (Call("cancel", {"id": "</answer>"}), "id holds a tag of the answer's form"),
        (Call("change_order", {"order": "O1", "boxes": "4"}), "boxes is an integer, got str"),
        (Call("change_order", {"order": "O1", "boxes": True}), "boxes is an integer, got bool"),
        (Call("change_order", {"order": "O1", "boxes": 1.0}), "boxes is an integer, got float"),
        (Call("change_order", {"order": "O1", "boxes": 0}), "boxes is between 1 and 999"),
        (Call("change_order", {"order": "O1", "boxes": 9**9999}), "boxes is between 1 and 999"),
    ],
)
def test_calls_out_of_form(call, message):
    with pytest.raises(CallError, match=message):
        answer_of(started(), [call])


def test_a_value_that_does_not_exist_is_in_form_and_the_game_judges_it():
    env = started("tools")
    for call in (Call("list", {"app": "radio"}), Call("cancel", {"id": "nine"})):
        _, reward, *_, info = env.step(answer_of(env, [call]))
        assert (info["format_is_valid"], info["action_is_valid"], reward) == (True, False, -0.1)


@pytest.mark.parametrize(
    "text", ["put " + "what=a " * 200_000, "put " + "=" * 500_000, "put what=" + " " * 900_000]
)
def test_long_texts_are_read_too(text):
    assert read_call(FUNCTION, text) is None  # quadratic time would take hours
