"""In a process of its own an agent is told, answers and fails as in the scorer's."""

import contextlib
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from ragen_bench.episodes.runner import tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models.agents.sandbox import sandbox_problem
from ragen_bench.models.base import Request, Sampling, TurnId, ask_all
from ragen_bench.opponents.opponent import ModelPair
from ragen_bench.suites import make_env
from tests.ragen_bench.models.own_agent import SAMPLING, played, records

from .agents import KINDS, make_subprocess_model

pytestmark = pytest.mark.slow

PLACE = TurnId("ragen/X-v0", "val", 3, 1, 2)
AS_PLAIN = SimpleNamespace(response_format="plain")
TELLS = """
import json
from dataclasses import asdict

from ragen_bench.agents import Answer

class Tells:
    {kind}def reset(self, episode):
        self.begun = asdict(episode)

    {kind}def act(self, messages, turn):
        self.turns = getattr(self, "turns", 0) + 1
        told = [self.begun, asdict(turn), messages[-1], len(messages), self.turns]
        return Answer(json.dumps(told), "\\ud800 why", 7, self.turns)

{kind}def answer(messages):
    return json.dumps(messages[-1]) + "\\udfff"
"""


@pytest.mark.parametrize("kind", ["", "async "])
@pytest.mark.parametrize("name", ["Tells", "answer"])
def test_a_subprocess_gets_and_records_the_same(agent, kind, name):
    here = agent(TELLS.format(kind=kind), name)
    apart = make_subprocess_model(name)
    assert apart.identity() == here.identity() != {}
    assert apart.slots == here.slots
    assert records(apart, "answer") == records(here, "answer")


def test_free_text_of_both_sides_is_the_same(agent):
    here = agent(TELLS.format(kind="async "), "Tells")
    tasks = tasks_of({"ragen/TwentyQuestionsModel-v0": 2}, "test", 1)

    def said(model):
        pair = ModelPair(model, model, "plain")
        episodes = played(pair, tasks, "plain", make=partial(make_env, opponent_format="plain"))
        return sorted(str(one.record.as_json()) for one in episodes)

    assert said(make_subprocess_model("Tells", at_once=2)) == said(here)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sandbox_does_not_change_the_records(agent, kind):
    source = "from own_kit import tools\n" + TELLS.format(kind="")
    others = {"own_kit.__init__": "", "own_kit.tools": "x = 1\n"}
    here = agent(source, "Tells", "own_kit.agent", **others)
    model = make_subprocess_model("Tells", kind, module="own_kit.agent")
    assert model.identity() == here.identity()
    assert records(model, "answer") == records(here, "answer")


@pytest.mark.parametrize("kind", ["", "async "])
def test_an_object_ends_with_its_episode(agent, kind):
    source = (
        "import weakref\n\nalive = weakref.WeakSet()\n\n"
        "class Living:\n"
        f"    {kind}def reset(self, episode):\n        alive.add(self)\n"
        f"    {kind}def act(self, messages, turn):\n        return str(len(alive))\n"
    )
    agent(source, "Living")
    turns = [
        turn
        for one in played(make_subprocess_model("Living", at_once=1))
        for turn in one.record.turns
    ]
    assert [turn.answer for turn in turns] == ["1"] * 60


FAILING = (
    *("return 7", "raise OSError('one\\ntwo')", "sys.exit(3)", "return Answer('', 'thoughts')"),
    *("return Answer(b'')", "return Answer('', '', 1, -2)", "raise asyncio.CancelledError"),
    "return tools.read('?')",
)


@pytest.mark.parametrize("kind", ["", "async "])
def test_errors_have_the_same_message(agent, kind):
    lines = ["import asyncio, sys", "import own_tools as tools"]
    lines += ["from ragen_bench.agents import Answer", f"{kind}def answer(messages):"]
    for body in FAILING:
        lines.append(f"    if messages[0]['content'] == {body!r}: {body}")
    tools = "import json\n\ndef read(text):\n    return json.loads(text)\n"
    here, apart = agent("\n".join([*lines, ""]), own_tools=tools), make_subprocess_model()
    env = SimpleNamespace(response_format="think")
    for body in FAILING:
        said = []
        for model in (here, apart):
            request = Request([{"role": "user", "content": body}], "x", env, turn_id=PLACE)
            with pytest.raises(UserError) as caught:
                ask_all(model, [request], SAMPLING)
            said.append((str(caught.value), caught.value.exit_code))
        assert said[0] == said[1]
        assert said[0][0].endswith(f"{PLACE})")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise RuntimeError('one\\ntwo')\n", "cannot be imported: RuntimeError: one"),
        ("answer = 7\n", "is not callable"),
        ("class answer:\n    pass\n", "is not an agent"),
    ],
)
def test_objects_that_are_not_agents_are_refused(agent, source, says):
    with contextlib.suppress(UserError):
        agent(source)
    with pytest.raises(UserError, match=f"^python:own_agent:answer {says}") as caught:
        make_subprocess_model()
    assert caught.value.exit_code == 2


def test_printed_text_comes_before_the_response(agent, capsys):
    agent(
        "import sys\n\ndef answer(messages):\n    print('so')\n    print('é', file=sys.stderr)\n"
        "    return ''\n"
    )
    model = make_subprocess_model()
    for number in range(3):
        engine = model.engine(SAMPLING)
        engine.submit(Request([], f"{number}", AS_PLAIN))
        engine.collect()
        sys.stdout.write(f"{number}\n")
    assert capsys.readouterr() == ("so\n0\nso\n1\nso\n2\n", "é\né\né\n")


@pytest.mark.parametrize("kind", ["", "async "])
def test_keyboard_interrupt_in_the_subprocess_ends_the_run(agent, kind):
    agent(f"{kind}def answer(messages):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        played(make_subprocess_model())


def test_a_grammar_is_refused(agent):
    agent("def answer(messages):\n    return ''\n")
    with pytest.raises(UserError, match="cannot constrain responses by a grammar"):
        make_subprocess_model().engine(Sampling(0.5, 8, "", 0, constrain=True))


@pytest.mark.parametrize("kind", KINDS)
def test_probe_names_the_subprocess(agent, kind):
    agent("def answer(messages):\n    return ''\n")
    could = "--isolate would keep it from files and the network"
    said = {
        "process": f"in a process of its own, a function; {sandbox_problem() or could}",
        "sandbox": "isolated by bubblewrap, a function",
    }
    assert make_subprocess_model(kind=kind).probe() == said[kind]
