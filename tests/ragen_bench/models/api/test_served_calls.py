"""A server without a parser of calls: they are read in the text, and the run says so."""

import json

import pytest

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.errors import UserError
from ragen_bench.models import Request, ServerOptions, ask_all
from ragen_bench.models.api.served_calls import read_served
from ragen_bench.models.api.server_model import OpenAIModel
from ragen_bench.suites import make_env
from ragen_envs.core.tool_calls import Call, as_text

from ..families import FAMILIES, LOOK
from ..families.other_calls import OTHERS
from . import hosted
from .client import GREEDY

KNOWN = {name: family.call for name, family in FAMILIES.items() if family.call}
KNOWN |= {name: row[-1] for name, row in OTHERS.items()}
UNKNOWN = ("functiongemma", "arguments as text", "a function inside")
DOOR, WALL = (Call("look", {"place": place, "times": 2}) for place in ("door", "wall"))
UP = Call("act", {"actions": ["Up"]})
MISTRAL = '[TOOL_CALLS][{"name": "act", "arguments": {"actions": ["Up"]}}]'
MESSAGES = [{"role": "user", "content": "Up or Left?"}]


@pytest.mark.parametrize("name", KNOWN)
def test_each_family_is_read_as_in_process(name):
    text = KNOWN[name]
    two = text + text.replace("door", "wall")
    if name in UNKNOWN:
        assert read_served(text, [LOOK]) == (text, "")
        return
    assert read_served(text, [LOOK])[0] == as_text([DOOR]) or "<tool_call>\n{" in text
    assert read_served(f"I look.\n{two}", [LOOK])[0].endswith(as_text([DOOR, WALL]).strip())
    assert all(read_served(part, [LOOK])[1] for part in (text, two))
    for other in (f"{text} and more", text[: text.index("door") + 2], text.replace("look", "fly")):
        assert read_served(other, [LOOK]) == (other, "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[{"name": "look", "arguments": {"place": "door", "times": 2}}]', "JSON"),
        ('{"name": "look", "parameters": {"place": "door", "times": 2}}', "JSON"),
        (
            '```json\n{"name": "look", "arguments": {"place": "door", "times": 2}}\n```',
            "fenced JSON",
        ),
        ('commentary to=functions.look json{"place": "door", "times": 2}', "gpt-oss"),
        ('functions.look:0{"place": "door", "times": 2}', "kimi without marks"),
        ('look{"place": "door", "times": 2}', "magistral without marks"),
        ("look(place='door', times=2)", "Python"),
        ("```tool_code\nlook(place='door', times=2)\n```", "tool_code"),
        (
            '<function_calls>\n<invoke name="look">\n<parameter name="place">door</parameter>\n'
            '<parameter name="times">2</parameter>\n</invoke>\n</function_calls>',
            "invoke",
        ),
    ],
)
def test_texts_without_special_tokens(text, name):
    assert read_served(text, [LOOK]) == (as_text([DOOR]), name)


@pytest.mark.parametrize("text", ["", "Up", "I look(at) it.", '{"place": "door"}', "look", "[1]"])
def test_other_texts_stay(text):
    assert read_served(text, [LOOK]) == (text, "")


def test_prose_that_names_a_function_is_no_call():
    written = "look(place='door', times=2)"
    assert read_served(f"I must not call {written}", [LOOK])[1] == ""
    for before in ("I look.\n", "I look:\n  ", "<think>hm</think> "):
        for call in (written, f"[{written}]"):
            assert read_served(before + call, [LOOK])[0] == as_text([DOOR], before.strip())


def ask(stub, thinking_marks=""):
    env = make_env("ragen/Sokoban-v0", "val", "tools")
    env.reset(seed=0)
    options = ServerOptions(base_url=stub.url, retries=0)
    model = OpenAIModel(hosted.NAME, options, thinking_marks=thinking_marks)
    [made] = ask_all(model, [Request(MESSAGES, "one", env)], GREEDY)
    return made, model


@pytest.mark.parametrize("thinking_marks", ["", "magistral"])
def test_a_servers_text_is_read_behind_its_thoughts(thinking_marks):
    begin, end = ("[THINK]", "[/THINK]") if thinking_marks else ("<think>", "</think>")
    with hosted.running() as stub:
        stub.answer = f"{begin}I could write {MISTRAL} here.{end}{MISTRAL}"
        made, model = ask(stub, thinking_marks)
    assert (made.text, made.reasoning) == (as_text([UP]), f"I could write {MISTRAL} here.")
    assert model.identity()["calls_read_as"] == ["mistral"]
    [note] = model.notes
    assert note.startswith(
        f"{stub.url} leaves calls in the text, which are read in the form mistral"
    )


def test_calls_that_the_server_reads_are_the_only_ones():
    call = {"name": "act", "arguments": json.dumps(UP.arguments)}
    with hosted.running() as stub:
        message = {
            "content": MISTRAL,
            "tool_calls": [{"id": "a", "type": "function", "function": call}],
        }
        stub.said = lambda: {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        made, model = ask(stub)
    assert made.text == as_text([UP], MISTRAL)
    assert "calls_read_as" not in model.identity()
    assert not model.notes


@pytest.mark.parametrize(
    "says", ["requires --enable-auto-tool-choice and --tool-call-parser", "No"]
)
def test_a_server_that_refuses_functions_without_a_parser_is_asked_for_text(says):
    with hosted.running() as stub:
        stub.answer = MISTRAL
        stub.refuses = lambda body: (
            (400, {"message": f'"auto" tool choice {says}'})
            if "tools" in body and body.get("tool_choice") != "none"
            else None
        )
        if says == "No":
            with pytest.raises(UserError, match='"auto" tool choice No'):
                ask(stub)
            return
        made, _ = ask(stub)
        assert made.text == as_text([UP])
        assert stub.bodies[-1]["tool_choice"] == "none"


def test_a_run_says_so_and_resumes(tmp_path):
    evaluation = Evaluation(
        model=f"openai/{hosted.NAME}",
        suite="",
        instances={"ragen/FrozenLake-v0": 2},
        split="val",
        response_format="tools",
        samples=1,
        seed=0,
        temperature=0.5,
        max_tokens=64,
    )
    with hosted.running() as stub:
        stub.answer = MISTRAL
        said = []
        options = ServerOptions(base_url=stub.url, retries=0)
        run = play_run(
            evaluation, OpenAIModel(hosted.NAME, options), tmp_path / "run", say=said.append
        )
        run.unlock()
        [note] = [line for line in said if "leaves calls" in line]
        assert note.startswith(f"Note: {stub.url} leaves calls in the text")
        recorded = json.loads((tmp_path / "run/run.json").read_text())
        assert recorded["model_identity"]["calls_read_as"] == ["mistral"]
        turns = [turn for episode in run.episodes() for turn in episode.turns]
        assert {turn.answer for turn in turns} == {as_text([UP])}
        assert all(turn.format_is_valid for turn in turns)
        # Later turns show the calls as calls.
        later = max(stub.bodies, key=lambda body: len(body["messages"]))["messages"]
        assert [m["role"] for m in later[2:4]] == ["assistant", "tool"]
        lines = (tmp_path / "run/episodes.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / "run/episodes.jsonl").write_text(lines[0])
        play_run(evaluation, OpenAIModel(hosted.NAME, options), tmp_path / "run").unlock()
        assert (tmp_path / "run/episodes.jsonl").read_text() == "".join(lines)
