"""The environment: a model and a game alternate in one conversation for each episode."""

from __future__ import annotations

import verifiers.v1 as vf

from ragen_envs.integrations.verifiers.task import EPISODE_KEY, TextEnvTask, summarize


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
