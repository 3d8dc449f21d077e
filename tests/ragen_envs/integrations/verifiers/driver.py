"""Answers lines of JSON in the environment of verifiers: tasks, episodes, examples."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO

import verifiers.v1 as vf

from ragen_envs.integrations.verifiers import TextEnvConfig, TextEnvData, TextEnvTask
from ragen_verifiers import TextEnvTaskset, TextGameEnv


@dataclass
class Scripted:
    """An agent that gives answers one after the other, and keeps what it reads."""

    answers: list[str]
    read: list[str] = field(default_factory=list)
    info: dict = field(default_factory=dict)

    @property
    def agent(self):
        return self

    @property
    def trace(self):
        return self

    @asynccontextmanager
    async def interaction(self, task):
        self.read.append(task.data.prompt)
        yield self

    async def turn(self, message=None):
        if message is not None:
            self.read.append(message)
        answer = self.answers[len(self.read) - 1]
        return vf.Segment([vf.AssistantMessage(content=answer)])


async def play(data, answers):
    """Return what an agent read in an episode, and what its trace says, with the reward."""
    task, agent = TextEnvTask(TextEnvData.model_validate(data)), Scripted(answers)
    await TextGameEnv.run(None, task, agent)
    reward = await task.episode_return(agent)
    return {"read": agent.read, "reward": reward, **agent.info["episode"]}


def tasks(config):
    """Return the data of the tasks of a taskset."""
    taskset = TextEnvTaskset(TextEnvConfig(**config))
    return [{**task.data.model_dump(mode="json"), "key": task.key} for task in taskset]


def answered(question):
    """Return what a question asks for, or the words of the refusal."""
    try:
        if "code" in question:
            with redirect_stdout(StringIO()) as printed:
                exec(question["code"], {})
            return printed.getvalue()
        if "config" in question:
            return tasks(question["config"])
        return asyncio.run(play(question["data"], question["answers"]))
    except ValueError as error:
        return {"refused": str(error)}


for line in sys.stdin:
    sys.stdout.write(json.dumps(answered(json.loads(line))) + "\n")
    sys.stdout.flush()
