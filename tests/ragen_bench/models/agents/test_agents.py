"""Agents of the user's own: what they are told, what they return, and what is recorded."""

import json
import re
from dataclasses import asdict, replace

import gymnasium
import jsonschema
import pytest

from ragen_bench.agents import Answer
from ragen_bench.audit.doctor import examine
from ragen_bench.models.base import Request, TurnId, ask_all
from ragen_bench.models.grammar import action_schema
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import format_answer
from ragen_envs.registration import IDS
from tests.ragen_bench.models.own_agent import SAMPLING, TOLD, played, records, run_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("form", ["think", "plain"])
def test_an_agent_is_told_where_it_is_and_what_it_may_do(agent, form):
    model = agent(TOLD, "Told")
    actions = ["Up", "Right", "Down", "Left"]
    schema = {"type": "string", "enum": actions}
    played(model, form=form)
    assert model._agent.reset.__globals__["told"] == [
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
        stream, running = RandomStream("test", seed), True
        while running:
            check = jsonschema.Draft202012Validator(action_schema(game))
            json.dumps(action_schema(game))
            for answer in (random_answer(game, stream), oracle_answer(game)):
                check.validate(answer.split(" || "))
            known = game.legal_actions[0]
            free = game.free_text
            calls = ("enter file=F1 thing=C2", "open result=5")
            words = (
                next(c for c in calls if re.fullmatch(free.form, c))
                if free and free.form
                else "a b"
            )
            own = [f"{free.before}{words}{free.after}"] if free else []
            check.validate([known] * game.actions_this_turn)
            for wrong in ([], [known] * (game.actions_this_turn + 1), known, [7], ["<x>"]):
                assert not check.is_valid(wrong), wrong
            for words in own:
                check.validate([words])
                assert game.read(words)[0].actions_valid
            _, _, terminated, truncated, _ = game.step(random_answer(game, stream))
            running = not (terminated or truncated)


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


def test_callable_objects_may_wait(agent):
    source = (
        "class Own:\n    async def __call__(self, messages):\n        return ''\n\none = Own()\n"
    )
    model = agent(source, "one", at_once=4)
    assert model.slots == 4
    assert len(played(model)) == 12


def test_a_name_outside_a_run_is_told_as_the_environment(agent):
    model = agent(TOLD, "Told")
    env = gymnasium.make("ragen/Bandit-v0", split="val").unwrapped
    env.reset(seed=0)
    place = TurnId("ragen/Bandit-v0", "val", 4, 1, 0)
    ask_all(model, [Request([], "answerer/0", env), Request([], "x", env, turn_id=place)], SAMPLING)
    starts = [start for start, _ in model._agent.reset.__globals__["told"]]
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
    findings = list(examine(run_of("answer"), 2, agent(source)))
    assert {finding.status for finding in findings} == {"ok"}
    [limit] = [finding.detail for finding in findings if finding.name == "limit"]
    assert limit == "not checked: agents do not receive it"


def test_answers_are_plain_data():
    answer = Answer("Up", "why", 3, 2)
    assert Answer(**json.loads(json.dumps(asdict(answer)))) == answer
    assert replace(answer, text=format_answer(["Up"], "answer")).text == "<answer>Up</answer>"
