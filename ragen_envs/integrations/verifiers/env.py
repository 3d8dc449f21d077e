"""The environment, one conversation per episode, and the harness of its model."""

from __future__ import annotations

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from ragen_envs.integrations.verifiers.taskset import EPISODE_KEY, TextEnvTask, summarize


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

        Raises:
            httpx.HTTPError: The request fails; verifiers has the reason.
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
