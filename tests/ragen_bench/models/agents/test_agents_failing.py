"""What becomes of a run whose agent fails, or is none."""

import gc
import json

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.models.base import Request
from ragen_bench.runs.directory import read_run
from tests.ragen_bench.models.own_agent import LAKE, SAMPLING, TOLD, played, run_of
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["", "async "])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 7", "returned int; it takes a list of messages"),
        ("return None", "returned NoneType; it takes a list of messages"),
        ("return Answer('', 'thoughts')", "returned its reasoning separately"),
        ("return Answer(b'')", "raised TypeError: text of an Answer is a str, got b'' (own_agent"),
        ("return Answer('', 7)", "raised TypeError: reasoning of an Answer is a str, got 7 (own"),
        ("return Answer('', '', 1.0)", "raised TypeError: prompt_tokens of an Answer is an int"),
        ("return Answer('', '', 10**4000)", "raised ValueError: prompt_tokens of an Answer is be"),
        ("return Answer('', '', 1, 10**12)", "raised ValueError: completion_tokens of an Answer"),
        ("return Answer('', '', True)", "raised TypeError: prompt_tokens of an Answer is an int"),
        ("return Answer('', '', 1, -2)", "raised ValueError: completion_tokens of an Answer is at"),
        ("sys.exit(3)", "raised SystemExit: 3 (own_agent.py, line 5, in answer;"),
        ("raise asyncio.CancelledError", "raised CancelledError (own_agent.py, line 5, in answer;"),
    ],
)
def test_a_failure_is_one_line_that_says_where(agent, kind, body, says):
    lines = ["import asyncio", "import sys", "from ragen_bench.agents import Answer"]
    source = "\n".join([*lines, f"{kind}def answer(messages):", f"    {body}", ""])
    with pytest.raises(UserError) as caught:
        played(agent(source))
    said = str(caught.value)
    assert said.startswith(f"python:own_agent:answer {says}")
    assert said.endswith(f"{LAKE}, instance 0, sample 0, turn 0)")
    assert "\n" not in said
    assert caught.value.exit_code == 1


def test_sys_exit_in_an_agents_own_task_is_an_error(agent):
    source = (
        "import asyncio, sys\n\n"
        "async def leave():\n    sys.exit('enough')\n\n"
        "async def answer(messages):\n    await asyncio.gather(leave())\n"
    )
    with pytest.raises(UserError, match=r"raised SystemExit: enough \(own_agent.py, line 4, in le"):
        played(agent(source))


def test_keyboard_interrupt_of_an_agent_ends_the_run(agent):
    with pytest.raises(KeyboardInterrupt):
        played(agent("async def answer(messages):\n    raise KeyboardInterrupt\n"))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("pass", "is not an agent; a class has reset(episode) and act(messages, turn), as docs/"),
        ("act = print", "is not an agent; a class has reset(episode) and act(messages, turn)"),
        (
            "async def reset(self, episode): pass\n    def act(self, messages, turn): pass",
            ": reset is async def and act is not; declare act with async def too",
        ),
    ],
)
def test_a_class_without_the_methods_is_refused(agent, body, says):
    with pytest.raises(UserError) as caught:
        agent(f"class Own:\n    {body}\n", "Own")
    assert str(caught.value).replace("Own ", "Own").startswith(f"python:own_agent:Own{says}")
    assert caught.value.exit_code == 2


def test_an_instance_instead_of_a_class_is_refused(agent):
    with pytest.raises(UserError, match=r"is not callable; name its class: a class has reset\("):
        agent(TOLD + "one = Told()\n", "one")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def __init__(self, model): pass", "raised TypeError: .*missing 1 required positional"),
        ("act = 'Up'.count", "raised TypeError: "),
    ],
)
def test_an_agent_with_other_arguments_is_refused(agent, source, says):
    whole = f"class Own:\n    def reset(self, episode): pass\n    act = print\n    {source}\n"
    with pytest.raises(UserError, match=says + r".*instance 0, sample 0, turn 0\)$"):
        played(agent(whole, "Own"))


def test_a_plain_function_that_returns_a_coroutine_is_refused(agent, recwarn):
    model = agent("async def wait(messages):\n    return ''\n\nanswer = lambda m: wait(m)\n")
    with pytest.raises(UserError, match="returned coroutine; declare the function that returns"):
        played(model)
    gc.collect()
    assert not [warning for warning in recwarn if "never awaited" in str(warning.message)]


def test_responses_next_to_a_failure_are_recorded(agent):
    source = (
        "async def answer(messages):\n"
        "    if messages:\n        raise OSError('no more paper')\n    return 'finished'\n"
    )
    engine = agent(source).engine(SAMPLING)
    message = {"role": "user", "content": ""}
    engine.submit(Request([message], "fails", None))
    engine.submit(Request([], "ends", None))
    wait_until(lambda: engine._done.qsize() == 2)
    assert [answer.text for _, answer in engine.collect()] == ["finished"]
    with pytest.raises(UserError, match=r"no more paper \(own_agent.py, line 3, in answer; quest"):
        engine.collect()


def test_finished_episodes_are_kept_and_the_others_begin_anew(agent, tmp_path):
    source = (
        "import pathlib\n\n"
        "class Player:\n"
        "    async def reset(self, episode):\n"
        "        self.turns, self.last = 0, episode.instance == 2\n"
        "        with open('begun', 'a') as file:\n"
        "            file.write(str(episode.instance))\n"
        "    async def act(self, messages, turn):\n"
        "        if self.last and turn.number == 4 and not pathlib.Path('paper').exists():\n"
        "            raise OSError('no more paper')\n"
        "        self.turns += 1\n"
        "        return str(self.turns)\n"
    )
    evaluation = run_of("Player")
    with pytest.raises(UserError, match=r"no more paper .*instance 2, sample 0, turn 4\)"):
        play_run(evaluation, agent(source, "Player", at_once=1), tmp_path / "run")
    assert [episode.index for episode in read_run(tmp_path / "run").episodes()] == [0, 1]
    (tmp_path / "paper").touch()
    model = agent(source, "Player", at_once=3)
    play_run(evaluation, model, tmp_path / "run").unlock()
    assert (tmp_path / "begun").read_text() == "0122"
    play_run(evaluation, model, tmp_path / "whole").unlock()
    whole = (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == whole
    assert [turn["answer"] for turn in json.loads(whole.splitlines()[2])["turns"]] == [*"12345"]
