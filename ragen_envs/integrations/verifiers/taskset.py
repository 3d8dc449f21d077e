"""The taskset, its environment and the harness of its model.

Tasks are the instances of an environment, each with several noise seeds. A task's episode is one
conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import httpx
import verifiers.v1 as vf
from pydantic import Field, model_validator
from verifiers.v1.dialects.chat import message_to_wire

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, tasks
from ragen_envs.registration import find_reference

EPISODE_KEY = "episode"
"""Key of a trace's `info` with the episode's summary: the rewards of its turns, whether the rules
or the budget ended it, success and score if known, and the last observation, which no model reads.
"""


class TextEnvData(vf.TaskData):  # type: ignore[misc]
    """The data of a task; `prompt` is the first observation, `rollout` the noise seed.

    `group` names the instance, whose tasks differ in their noise only.
    """

    env: str
    seed: int
    rollout: int
    split: Split
    response_format: ResponseFormat
    group: str


def summarize(episode: Episode) -> Info:
    """Return the summary of an episode so far, see `EPISODE_KEY`."""
    last = episode.turns[-1]
    return {
        "rewards": [turn.reward for turn in episode.turns],
        "terminated": last.terminated,
        "truncated": last.truncated,
        "success": episode.success,
        "score": last.info.get("score"),
        "final_observation": last.observation if last.done else "",
    }


class TextEnvTask(vf.Task[TextEnvData]):  # type: ignore[misc]
    """An episode to play; its reward is the return."""

    def episode(self) -> Episode:
        """Return the episode of this task after its reset."""
        data = self.data
        episode = Episode(data.env, data.split, data.response_format)
        episode.reset(data.seed, data.rollout)
        return episode

    @vf.reward  # type: ignore[untyped-decorator]
    async def episode_return(self, trace: vf.Trace) -> float:
        """Return the sum of the rewards."""
        return sum_in_order(trace.info.get(EPISODE_KEY, {}).get("rewards", []))

    @vf.metric  # type: ignore[untyped-decorator]
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        """Return success and score, if the environment reports them, and the number of turns."""
        known = trace.info.get(EPISODE_KEY, {})
        values = {"success": known.get("success"), "score": known.get("score")}
        found = {name: float(value) for name, value in values.items() if value is not None}
        return {**found, "turns": float(len(known.get("rewards", [])))}

    async def validate(self, runtime: vf.Runtime) -> bool | None:  # noqa: ARG002 (verifiers')
        """Return whether the instance can be solved; None without an oracle.

        With noise the oracle may fail by bad luck. Then the instance is valid if the optimal
        success probability, which the environment knows exactly, is above 0 and below 1. If the
        oracle is a reference player, whose probability is an estimate, the result is None.
        """
        data, episode = self.data, self.episode()
        inner = episode.env.unwrapped
        if not isinstance(inner, TextEnv):
            return None
        episode.reset(data.seed, data.rollout)
        while not episode.done:
            episode.step(episode.oracle())
        if not episode.success and find_reference(data.env.rpartition(":")[2]):
            return None
        if episode.success:
            return True
        return 0 < inner.compute_oracle_info(inner.instance)["ceiling"] < 1


class TextEnvConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Settings of the tasks."""

    env: str = "ragen/Sokoban-v0"
    """Id in Gymnasium's registry, or MODULE:ID to import the module that registers it; several are
    separated by commas."""
    split: Split = "train"
    """Split of the instances."""
    response_format: ResponseFormat = "think"
    """Format of the responses."""
    instances: int = Field(32, ge=1)
    """Number of instances of each environment, from `first_seed`."""
    rollouts: int = Field(1, ge=1)
    """Number of tasks of each instance, with different noise: a group."""
    first_seed: int = Field(0, ge=0)
    """Index of the first instance."""

    @model_validator(mode="after")
    def _check_environment(self) -> Self:
        """Reject invalid settings early, where the error is one line."""
        for env in self.env.split(","):
            Episode(env, self.split, self.response_format).close()
        return self


class TextEnvTaskset(vf.Taskset[TextEnvTask, TextEnvConfig]):  # type: ignore[misc]
    """The instances of the environments; the rollouts of an instance are adjacent."""

    def load(self) -> Iterator[TextEnvTask]:
        """Yield the tasks, each with its first observation as prompt."""
        for env in self.config.env.split(","):
            yield from self._tasks(env)

    def _tasks(self, env: str) -> Iterator[TextEnvTask]:
        config = self.config
        episode = Episode(env, config.split, config.response_format)
        for task in tasks(
            env,
            config.instances,
            config.rollouts,
            split=config.split,
            response_format=config.response_format,
            first_seed=config.first_seed,
        ):
            group = f"{task.env}/{task.split}/{task.seed}"
            name = f"{group}/{task.noise_seed}"
            data = TextEnvData(
                id=name,
                name=name,
                prompt=episode.reset(task.seed, task.noise_seed),
                env=task.env,
                seed=task.seed,
                rollout=task.noise_seed,
                split=task.split,
                response_format=task.response_format,
                group=group,
            )
            yield TextEnvTask(data, config.task)
        episode.close()


class TextGameConfig(vf.EnvConfig):  # type: ignore[misc]
    """The player; by default the harness of this plugin."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class TextGameEnv(vf.Env[TextGameConfig]):  # type: ignore[misc]
    """Plays a task's episode: each response is a turn, each observation a user message."""

    async def run(self, task: TextEnvTask, agents: vf.Agents) -> None:
        """Play one episode, and store its summary in the trace's `info`."""
        episode = task.episode()
        try:
            async with agents.agent.interaction(task) as interaction:
                reply = await interaction.turn()
                while not reply.terminated:
                    turn = episode.step(reply.messages[-1].content or "")
                    interaction.trace.info[EPISODE_KEY] = summarize(episode)
                    if turn.done:
                        break
                    reply = await interaction.turn(turn.observation)
        finally:
            episode.close()


class TextEnvHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """A chat without tools, whose requests go through verifiers' interception.

    verifiers' own such harness, `null`, starts a program and downloads its packages each turn.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,  # noqa: ARG002 (verifiers')
        runtime: vf.Runtime,  # noqa: ARG002
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],  # noqa: ARG002
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Request one completion of the conversation in `data`.

        A request that fails raises `httpx.HTTPError`, and verifiers has the reason.
        """
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += map(message_to_wire, prompt)
        # The interception is on this machine by plain HTTP. It needs no proxy, and no certificates,
        # which take 20 ms to read.
        async with httpx.AsyncClient(timeout=None, trust_env=False, verify=False) as client:
            response = await client.post(
                f"{endpoint}/chat/completions",
                headers={"Authorization": f"Bearer {secret}"},
                json={"model": ctx.model, "messages": messages},
            )
        response.raise_for_status()
        return vf.ProgramResult(0, "", "")
