"""The environment: a model and a game take turns, one conversation an episode."""

from __future__ import annotations

import verifiers.v1 as vf

from ragen_envs.integrations.verifiers.task import TOLD, TextEnvTask, told


class TextGameConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: the harness of this plugin, unless it is told otherwise."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class TextGameEnv(vf.Env[TextGameConfig]):  # type: ignore[misc]
    """Plays a task's episode; each answer is a turn, and the next observation the user's reply."""

    async def run(self, task: TextEnvTask, agents: vf.Agents) -> None:
        """Play one episode, and leave what became of it in the trace's `info`."""
        episode = task.episode()
        try:
            async with agents.agent.interaction(task) as interaction:
                said = await interaction.turn()
                while not said.terminated:
                    turn = episode.step(said.messages[-1].content or "")
                    interaction.trace.info[TOLD] = told(episode)
                    if turn.done:
                        break
                    said = await interaction.turn(turn.observation)
        finally:
            episode.close()
