"""Agents of the user's own: what they are told, when they live, and how many play at once."""

import asyncio
import gc
import json
from dataclasses import asdict, replace

import gymnasium
import jsonschema
import pytest

from ragen_bench.agents import Answer
from ragen_bench.audit.doctor import examine_model
from ragen_bench.episodes.evaluation import Evaluation, evaluate
from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models import ServerOptions, resolve
from ragen_bench.models.base import Place, Request, Sampling, ask_all
from ragen_bench.models.grammar import action_schema
from ragen_bench.opponents.pair import Pair
from ragen_bench.runs.directory import read_run
from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer
from ragen_envs.protocol import format_answer
from ragen_envs.registration import IDS
from tests.waiting import wait_until

SAMPLING = Sampling(0.5, 8, "", 0)
TWELVE = tasks_of({"ragen/FrozenLake-v0": 6}, "test", 2)
LAKE = "ragen/FrozenLake-v0/test"

# Waits in its first answers until so many are in flight as there should be; a broken form is an
# answer too, so that every episode has all five turns of its budget.
CROWD = """
import asyncio

WANTED = {wanted}
in_flight = most = asked = 0
full = asyncio.Event()


async def answer(messages):
    global in_flight, most, asked
    in_flight += 1
    asked += 1
    most = max(most, in_flight)
    if in_flight == WANTED:
        full.set()
    await asyncio.wait_for(full.wait(), 60)
    await asyncio.sleep(0)
    in_flight -= 1
    return "no form"
"""


def played(model, tasks=TWELVE, form="think", **more):
    return list(play(tasks, model, SAMPLING, form, **more))


def records(model, form="think", **more):
    every = {one.task.key: one.record.as_json() for one in played(model, form=form, **more)}
    return [every[key] for key in sorted(every)]


def run_of(attribute):
    return Evaluation(
        model=f"python:own_agent:{attribute}",
        suite="",
        instances={"ragen/FrozenLake-v0": 3},
        split="test",
        response_format="think",
        samples=1,
        seed=0,
        temperature=0.5,
        max_tokens=8,
    )


@pytest.mark.parametrize("at_once", [1, 5, 12])
def test_async_functions_are_played_so_many_at_once(agent, at_once):
    model = agent(CROWD.format(wanted=at_once), at_once=at_once)
    episodes = played(model)
    counts = model._own.__globals__
    assert len(episodes) == 12
    assert counts["most"] == at_once == model.slots
    assert counts["asked"] == sum(len(episode.record.turns) for episode in episodes) == 60


def test_the_command_lines_number_arrives(agent):
    agent("async def answer(messages):\n    return ''\n")
    name = "python:own_agent:answer"
    assert resolve(name, ServerOptions(concurrency=3)).slots == 3
    assert resolve(name).slots == 8


def test_others_are_played_one_after_the_other(agent):
    assert agent("def answer(messages):\n    return ''\n", at_once=5).slots == 1
    assert agent(TOLD, "Told", at_once=5).slots == 1


TOLD = """
from dataclasses import asdict

told = []


class Told:
    def reset(self, episode):
        self.told = [asdict(episode)]
        told.append(self.told)

    def act(self, messages, turn):
        self.told.append(asdict(turn))
        self.told[-1]["read"] = len(messages)
        return "nothing"
"""


@pytest.mark.parametrize("form", ["think", "plain"])
def test_an_agent_is_told_where_it_is_and_what_it_may_do(agent, form):
    model = agent(TOLD, "Told")
    actions = ["Up", "Right", "Down", "Left"]
    schema = {"type": "string", "enum": actions}
    played(model, form=form)
    assert model._own.reset.__globals__["told"] == [
        [
            {
                "environment": "ragen/FrozenLake-v0",
                "instance": instance,
                "sample": sample,
                "response_format": form,
            },
            *(
                {
                    "number": turn,
                    "legal_actions": tuple(actions),
                    "action_schema": {
                        "type": "array",
                        "items": schema,
                        "minItems": 1,
                        "maxItems": 5,
                    },
                    "read": 4 + 2 * turn,
                }
                for turn in range(5)
            ),
        ]
        for instance in range(6)
        for sample in range(2)
    ]


@pytest.mark.parametrize("env", IDS)
def test_the_schema_takes_what_the_environment_takes(env):
    game = gymnasium.make(env, split="val", response_format="plain").unwrapped
    for seed in range(3):
        game.reset(seed=seed)
        stream, running = Stream("test", seed), True
        while running:
            check = jsonschema.Draft202012Validator(action_schema(game))
            json.dumps(action_schema(game))
            for answer in (random_answer(game, stream), oracle_answer(game)):
                check.validate(answer.split(" || "))
            known = game.legal_actions[0]
            own = [f"{game.free_text.before}a b{game.free_text.after}"] if game.free_text else []
            check.validate([known] * game.actions_this_turn)
            for wrong in ([], [known] * (game.actions_this_turn + 1), known, [7], ["<x>"]):
                assert not check.is_valid(wrong), wrong
            for words in own:
                check.validate([words])
                assert game.read(words)[0].actions_valid
            _, _, terminated, truncated, _ = game.step(random_answer(game, stream))
            running = not (terminated or truncated)


@pytest.mark.parametrize("kind", ["", "async "])
def test_an_object_lives_as_long_as_its_episode(agent, kind):
    source = (
        "import weakref\n\nalive = weakref.WeakSet()\nmost = made = 0\n\n"
        "class Living:\n"
        f"    {kind}def reset(self, episode):\n"
        "        global most, made\n"
        "        alive.add(self)\n"
        "        made += 1\n"
        "        most = max(most, len(alive))\n"
        "        self.turns = 0\n"
        f"    {kind}def act(self, messages, turn):\n"
        "        assert turn.number == self.turns\n"
        "        self.turns += 1\n"
        "        return 'nothing'\n"
    )
    model = agent(source, "Living", at_once=3)
    episodes = played(model)
    seen = model._own.reset.__globals__
    assert [len(episode.record.turns) for episode in episodes] == [5] * 12
    assert (seen["made"], seen["most"]) == (12, 3 if kind else 1)
    del episodes
    gc.collect()
    assert len(seen["alive"]) == 0


def test_the_record_does_not_depend_on_the_order_of_arrival(agent):
    source = (
        "import asyncio, random\n\n"
        "class Player:\n"
        "    async def reset(self, episode):\n"
        "        self.name = f'{episode.instance}.{episode.sample}'\n"
        "    async def act(self, messages, turn):\n"
        "        for _ in range(random.randrange(20)):\n"
        "            await asyncio.sleep(0)\n"
        "        action = turn.legal_actions[len(self.name + messages[-1]['content']) % 4]\n"
        "        return f'<think>{self.name} {turn.number}</think><answer>{action}</answer>'\n"
    )
    alone = records(agent(source, "Player", at_once=1))
    assert records(agent(source, "Player", at_once=12)) == alone
    sync = source.replace("async def", "def").replace("await asyncio.sleep(0)", "pass")
    assert records(agent(sync, "Player")) == alone
    assert {turn["answer"][7:12] for turn in alone[-1]["turns"]} >= {"5.1 0"}


def test_reasoning_and_tokens_are_recorded(agent):
    source = (
        "from ragen_bench.agents import Answer\n\n"
        "async def answer(messages):\n"
        "    return Answer('<answer>Up</answer>', 'far away', prompt_tokens=70,"
        " completion_tokens=5000)\n"
    )
    for text in (source, source.replace("async ", "")):
        turns = records(agent(text), form="answer")[0]["turns"]
        assert {
            (turn["answer"], turn["reasoning"], turn["prompt_tokens"], turn["completion_tokens"])
            for turn in turns
        } == {("<answer>Up</answer>", "far away", 70, 5000)}


@pytest.mark.parametrize("kind", ["", "async "])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 7", "returned int; it takes a list of messages"),
        ("return None", "returned NoneType; it takes a list of messages"),
        ("return Answer('', 'thoughts')", "returned its reasoning apart from the text"),
        ("return Answer(b'')", "raised TypeError: text of an Answer is a str, got b'' (own_agent"),
        ("return Answer('', 7)", "raised TypeError: reasoning of an Answer is a str, got 7 (own"),
        ("return Answer('', '', 1.0)", "raised TypeError: prompt_tokens of an Answer is an int"),
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


def test_leaving_the_process_in_a_task_of_ones_own_is_a_failure_too(agent):
    source = (
        "import asyncio, sys\n\n"
        "async def leave():\n    sys.exit('enough')\n\n"
        "async def answer(messages):\n    await asyncio.gather(leave())\n"
    )
    with pytest.raises(UserError, match=r"raised SystemExit: enough \(own_agent.py, line 4, in le"):
        played(agent(source))


def test_an_interrupt_of_ones_own_is_one(agent):
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
def test_a_class_that_is_no_agent(agent, body, says):
    with pytest.raises(UserError) as caught:
        agent(f"class Own:\n    {body}\n", "Own")
    assert str(caught.value).replace("Own ", "Own").startswith(f"python:own_agent:Own{says}")
    assert caught.value.exit_code == 2


def test_an_object_in_place_of_its_class(agent):
    with pytest.raises(UserError, match=r"is not callable; name its class: a class has reset\("):
        agent(TOLD + "one = Told()\n", "one")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def __init__(self, model): pass", "raised TypeError: .*missing 1 required positional"),
        ("act = 'Up'.count", "raised TypeError: "),
    ],
)
def test_an_agent_that_does_not_fit_its_call(agent, source, says):
    whole = f"class Own:\n    def reset(self, episode): pass\n    act = print\n    {source}\n"
    with pytest.raises(UserError, match=says + r".*instance 0, sample 0, turn 0\)$"):
        played(agent(whole, "Own"))


def test_a_coroutine_of_a_function_that_is_not_declared_so(agent, recwarn):
    model = agent("async def wait(messages):\n    return ''\n\nanswer = lambda m: wait(m)\n")
    with pytest.raises(UserError, match="returned coroutine; what returns one is to be declared"):
        played(model)
    gc.collect()
    assert not [warning for warning in recwarn if "never awaited" in str(warning.message)]


def test_callable_objects_may_wait(agent):
    source = (
        "class Own:\n    async def __call__(self, messages):\n        return ''\n\none = Own()\n"
    )
    model = agent(source, "one", at_once=4)
    assert model.slots == 4
    assert len(played(model)) == 12


def test_what_is_there_beside_a_failure_is_not_lost(agent):
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
        evaluate(evaluation, agent(source, "Player", at_once=1), tmp_path / "run")
    assert [episode.index for episode in read_run(tmp_path / "run").episodes()] == [0, 1]
    (tmp_path / "paper").touch()
    model = agent(source, "Player", at_once=3)
    evaluate(evaluation, model, tmp_path / "run").unlock()
    assert (tmp_path / "begun").read_text() == "0122"
    evaluate(evaluation, model, tmp_path / "whole").unlock()
    whole = (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == whole
    assert [turn["answer"] for turn in json.loads(whole.splitlines()[2])["turns"]] == [*"12345"]


def test_both_seats_have_objects_of_their_own(agent):
    source = (
        "from ragen_envs.protocol import format_answer\n\nbegun = []\n\n"
        "class Both:\n"
        "    async def reset(self, episode):\n"
        "        begun.append(episode.response_format)\n"
        "    async def act(self, messages, turn):\n"
        "        return turn.legal_actions[0]\n"
    )
    model = agent(source, "Both", at_once=2)
    tasks = tasks_of({"ragen/TwentyQuestionsModel-v0": 2}, "test", 1)
    pair = Pair(model, model, "plain")
    episodes = played(pair, tasks, "plain", opponent_format="plain")
    assert model._own.reset.__globals__["begun"] == ["plain"] * 4
    replies = [turn.opponent for episode in episodes for turn in episode.record.turns]
    assert all(reply.readable for reply in replies if reply)


def test_closing_cancels_what_waits(agent, caplog):
    source = (
        "import asyncio, threading\n\nended = threading.Event()\nbegun = threading.Event()\n\n"
        "async def answer(messages):\n"
        "    begun.set()\n"
        "    try:\n        await asyncio.sleep(600)\n"
        "    finally:\n        ended.set()\n"
    )
    model = agent(source)
    engine = model.engine(SAMPLING)
    engine.submit(Request([], "one", None))
    seen = model._own.__globals__
    assert seen["begun"].wait(60)
    engine.close()
    assert seen["ended"].wait(60)
    del engine
    for _ in range(3):  # turns of the loop, after which nothing holds the task
        model._loop.run(asyncio.sleep(0))
    gc.collect()
    assert caplog.text == ""


def test_an_async_agent_keeps_one_loop(agent):
    source = (
        "import asyncio\n\nloops = set()\n\n"
        "async def answer(messages):\n"
        "    loops.add(id(asyncio.get_running_loop()))\n    return ''\n"
    )
    model = agent(source)
    played(model)
    played(model)
    assert len(model._own.__globals__["loops"]) == 1


def test_a_name_outside_a_run_is_told_as_the_environment(agent):
    model = agent(TOLD, "Told")
    env = gymnasium.make("ragen/Bandit-v0", split="val").unwrapped
    env.reset(seed=0)
    place = Place("ragen/Bandit-v0", "val", 4, 1, 0)
    ask_all(model, [Request([], "answerer/0", env), Request([], "x", env, place=place)], SAMPLING)
    starts = [start for start, _ in model._own.reset.__globals__["told"]]
    assert [(start["environment"], start["instance"]) for start in starts] == [
        ("answerer/0", 0),
        ("ragen/Bandit-v0", 4),
    ]


def test_doctor_does_not_hold_an_agents_calls_to_the_limit_of_an_answer(agent):
    source = (
        "from ragen_bench.agents import Answer\n\n"
        "async def answer(messages):\n"
        "    return Answer('<think></think><answer>Up</answer>', completion_tokens=900)\n"
    )
    findings = list(examine_model(agent(source), run_of("answer"), 2))
    assert {finding.status for finding in findings} == {"ok"}
    [limit] = [finding.detail for finding in findings if finding.name == "limit"]
    assert limit == "not looked at: an agent of one's own is not told it"


def test_answers_are_plain_data():
    answer = Answer("Up", "why", 3, 2)
    assert Answer(**json.loads(json.dumps(asdict(answer)))) == answer
    assert replace(answer, text=format_answer(["Up"], "answer")).text == "<answer>Up</answer>"
