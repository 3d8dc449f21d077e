"""Plays a task folder by Harbor's own trial, with its agents and two more; prints the results."""

import asyncio
import json
import sys

from harbor.agents.base import BaseAgent
from harbor.models.task.task import Task
from harbor.models.trial.config import TrialConfig
from harbor.trial.trial import Trial

ENVIRONMENT = "ragen_envs.integrations.harbor.environment:GameEnvironment"


class Runner(BaseAgent):
    """Runs the commands of a file in its container, and keeps what they print."""

    commands: list[str]

    def __init__(self, *args, commands, **kwargs):
        super().__init__(*args, **kwargs)
        self._commands = commands

    @staticmethod
    def name():
        return "runner"

    def version(self):
        return "1"

    async def setup(self, environment):
        pass

    async def run(self, instruction, environment, context):
        printed = {"instruction": instruction}
        for command in self._commands:
            done = await environment.exec(command)
            printed[command] = [done.return_code, done.stdout, done.stderr]
        for path in ("/logs/agent/link", "/logs/agent/none"):
            try:
                await environment.download_file(path, self.logs_dir / "copy")
            except RuntimeError as error:
                printed[path] = str(error)
        try:
            await environment.exec("sleep 60", timeout_sec=1)
        except RuntimeError as error:
            printed["sleep"] = str(error)
        context.metadata = printed


async def play(folder, trials, agent):
    config = {"trials_dir": trials, "environment": {"import_path": ENVIRONMENT}}
    config |= {"task": {"path": folder}, "agent": agent}
    trial = await Trial.create(TrialConfig.model_validate(config))
    result = await trial.run()
    error = result.exception_info
    return {
        "rewards": result.verifier_result and result.verifier_result.rewards,
        "error": error and error.exception_message,
        "printed": result.agent_result and result.agent_result.metadata,
    }


async def main(folder, trials, commands):
    runner = {"import_path": f"{Runner.__module__}:Runner", "kwargs": {"commands": commands}}
    agents = {"oracle": {"name": "oracle"}, "nop": {"name": "nop"}, "runner": runner}
    played = await asyncio.gather(*(play(folder, trials, each) for each in agents.values()))
    task = Task(folder)
    return {
        "name": task.name,
        "is_valid": Task.is_valid_dir(folder),
        **dict(zip(agents, played, strict=True)),
    }


if __name__ == "__main__":
    Runner.__module__ = "tests.ragen_envs.integrations.harbor.driver"
    folder, trials, *commands = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(main(folder, trials, commands))))
