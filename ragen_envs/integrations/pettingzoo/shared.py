"""One episode shared by several agents, in turns (AEC) or at the same time (parallel)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.pettingzoo.agents import (
    MultiAgentBase,
    Observation,
    ParallelStep,
    without_test_option,
)
from ragen_envs.integrations.pettingzoo.turns import TurnsEnv

_RESPONSE_FLAGS = (
    "format_is_valid",
    "action_is_valid",
    "action_is_effective",
    "answer_is_example",
)
"""Keys of `info` about the latest response, not about the game."""
_NOT_RUN = "The episode was over, so nothing was done."


class SharedEpisode:
    """One episode of a game in which several agents respond.

    The episode has a single budget. The effect of a response is a line of news. Each agent reads
    it once, in its next observation, in the order of the responses.

    Args:
        env: The game.
        agents: Names of the agents, in their order.
        manner: Description of the turn order, for the first observation. A single agent reads the
            game's texts only.

    Attributes:
        env: The game.
        terminated: The rules ended the episode.
        truncated: The budget ended it.
    """

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str], manner: str) -> None:
        self.env = env
        self._agents = list(agents)
        self._manner = manner
        self._infos: dict[str, dict[str, Any]] = {}
        self.terminated = self.truncated = False

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        self._first, info = self.env.reset(seed=seed, options=without_test_option(options))
        self._state = ""
        self._news: list[str] = []
        self._read_count: dict[str, int | None] = dict.fromkeys(self._agents)
        self._infos = {agent: info.copy() for agent in self._agents}
        self.terminated = self.truncated = False

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """For each agent, the game's `info` with the flags of the agent's latest response."""
        return {agent: info.copy() for agent, info in self._infos.items()}

    def observe(self, agent: str) -> Observation:
        """Return the text that the agent has not read yet.

        It holds the rules and the first state before the agent's first response, then the news
        since its last one, and the current state after any news.
        """
        read_count = self._read_count[agent]
        parts = [self._introduction(agent) + self._first] if read_count is None else []
        if news := self._news[read_count or 0 :]:
            parts.append("\n".join([*news, self._state]))
        return {"text": "\n\n".join(parts)}

    def mark_read(self, agents: Sequence[str]) -> None:
        """Record that these agents respond now, after reading all news so far."""
        self._read_count.update(dict.fromkeys(agents, len(self._news)))

    def respond(self, agent: str, response: str) -> float:
        """Run an agent's response, and return the turn's reward.

        A response after the end of the episode has no effect and no cost.
        """
        if self.over:
            self._report(agent, _NOT_RUN)
            self._infos[agent].update(dict.fromkeys(_RESPONSE_FLAGS, False))
            return 0.0
        text, reward, self.terminated, self.truncated, info = self.env.step(response)
        feedback, _, self._state = text.partition("\n")
        self._report(agent, feedback)
        for other, previous in self._infos.items():
            self._infos[other] = info | {flag: previous[flag] for flag in _RESPONSE_FLAGS}
        self._infos[agent] = info
        return reward

    def _report(self, agent: str, feedback: str) -> None:
        self._news.append(feedback if len(self._agents) == 1 else f"{agent}: {feedback}")

    def _introduction(self, agent: str) -> str:
        if len(self._agents) == 1:
            return ""
        return (
            f"You are {agent}. {', '.join(self._agents)} play this game together and "
            f"{self._manner}. Turns, actions and rewards are those of all.\n\n"
        )


class _Shared(MultiAgentBase):
    """Base class of both forms.

    Raises:
        ValueError: There are more agents than turns, so that some could never respond.
    """

    _manner: str

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str]) -> None:
        turns = env.budget.max_turns
        if len(agents) > turns:
            raise ValueError(
                f"{env.variant.name} has {turns} turns in all, too few for {len(agents)} agents; "
                f"use at most {turns}, or mode='duel'"
            )
        super().__init__(env, agents)
        self._episode = SharedEpisode(env, agents, self._manner)

    def text_env(self, agent: str) -> TextEnv[Any, Any]:  # noqa: ARG002 (all agents share it)
        """Return the game that the agent plays, for `ragen_envs.core.policies`."""
        return self._episode.env

    def render(self) -> str | None:
        """Return the current state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: No episode has started.
        """
        state: str | None = self._episode.env.render()
        return state


class SharedTurnsEnv(_Shared, TurnsEnv):
    """One episode whose turns the agents take in rotation.

    All agents receive the reward of each turn, and end together.

    Args:
        env: The game.
        agents: Names of the agents, in their order.
    """

    _manner = "answer one after the other, in this order"

    def observe(self, agent: str) -> Observation:
        """Return the agent's observation, see `SharedEpisode.observe`."""
        return self._episode.observe(agent)

    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        self._episode.reset(seed, options)

    def _turn(self, agent: str, response: str) -> dict[str, float]:
        self._episode.mark_read([agent])
        return dict.fromkeys(self.agents, self._episode.respond(agent, response))

    def _next_agent(self) -> str:
        return self.agents[(self.agents.index(self.agent_selection) + 1) % len(self.agents)]

    def _report(self) -> None:
        episode = self._episode
        self.infos = episode.infos
        self.terminations = dict.fromkeys(self.agents, episode.terminated)
        self.truncations = dict.fromkeys(self.agents, episode.truncated)


class SharedParallelEnv(_Shared, ParallelEnv[str, Observation, str]):  # type: ignore[misc]
    """One episode in which all agents respond at the same time.

    The responses run in the agents' order, each as a turn, as in `SharedTurnsEnv`. If the episode
    ends within a round, the remaining responses have no effect. All agents receive the sum of the
    round's rewards, and end together.

    Args:
        env: The game.
        agents: Names of the agents, in their order.
    """

    _manner = "answer at the same time; the answers are run in this order"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode; the arguments are those of `TextEnv.reset`.

        Returns:
            The first observation and `info` of each agent.
        """
        self._episode.reset(seed, options)
        self.agents = self.possible_agents.copy()
        return {agent: self._episode.observe(agent) for agent in self.agents}, self._episode.infos

    def step(self, actions: dict[str, str]) -> ParallelStep:
        """Take one response of each agent.

        Returns:
            Observation, reward, terminated, truncated and `info` of each agent.

        Raises:
            ResetNeeded: No episode is running.
            ValueError: An agent's response is missing, or an agent is unknown.
            TypeError: The responses are not a dict, or a response is not a str.
        """
        agents, episode = self.agents, self._episode
        responses = self._check_responses(actions, agents)
        episode.mark_read(agents)
        # Rewards are hundredths, so sums of hundredths are exact.
        points = sum(
            round(100 * episode.respond(agent, response)) for agent, response in responses.items()
        )
        if episode.over:
            self.agents = []
        return (
            {agent: episode.observe(agent) for agent in agents},
            dict.fromkeys(agents, points / 100),
            dict.fromkeys(agents, episode.terminated),
            dict.fromkeys(agents, episode.truncated),
            episode.infos,
        )
