"""How many episodes of an agent of the user's own play at once, and when its objects live."""

import asyncio
import gc
from functools import partial

import pytest

from ragen_bench.episodes.runner import tasks_of
from ragen_bench.models import ServerOptions, resolve
from ragen_bench.models.base import Request
from ragen_bench.opponents.opponent import ModelPair
from ragen_bench.suites import make_env
from tests.ragen_bench.models.own_agent import SAMPLING, TOLD, played, records

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("at_once", [1, 5, 12])
def test_async_functions_are_played_so_many_at_once(agent, at_once):
    model = agent(CROWD.format(wanted=at_once), at_once=at_once)
    episodes = played(model)
    counts = model._agent.__globals__
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
    seen = model._agent.reset.__globals__
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


def test_both_seats_have_objects_of_their_own(agent):
    source = (
        "from ragen_envs.core.protocol import format_answer\n\nbegun = []\n\n"
        "class Both:\n"
        "    async def reset(self, episode):\n"
        "        begun.append(episode.response_format)\n"
        "    async def act(self, messages, turn):\n"
        "        return turn.legal_actions[0]\n"
    )
    model = agent(source, "Both", at_once=2)
    tasks = tasks_of({"ragen/TwentyQuestionsModel-v0": 2}, "test", 1)
    pair = ModelPair(model, model, "plain")
    episodes = played(pair, tasks, "plain", make=partial(make_env, opponent_format="plain"))
    assert model._agent.reset.__globals__["begun"] == ["plain"] * 4
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
    seen = model._agent.__globals__
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
    assert len(model._agent.__globals__["loops"]) == 1
