"""Duels: agents compete, each on its own copy of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.pettingzoo.agents import (
    MultiAgentBase,
    Observation,
    ParallelStep,
    without_test_option,
)

_WAIT = "Your game is over, and others still play. Your answers do nothing until they end."


def zero_sum(gains: dict[str, int]) -> dict[str, float]:
    """Return each agent's gain less the mean of the others' gains; the rewards sum to zero.

    Args:
        gains: Gains of at least two agents, in hundredths of reward.
    """
    total, others = sum(gains.values()), len(gains) - 1
    return {agent: (gain - (total - gain) / others) / 100 for agent, gain in gains.items()}


def find_winner(points: dict[str, int]) -> str | None:
    """Return the agent with the highest gain, None for a tie."""
    highest = max(points.values())
    best = [agent for agent, gain in points.items() if gain == highest]
    return best[0] if len(best) == 1 else None


class DuelEnv(MultiAgentBase, ParallelEnv[str, Observation, str]):  # type: ignore[misc]
    """Each agent plays its own copy of one instance; rewards are zero-sum.

    The copies share the noise of the dynamics: the n-th pull of an arm pays all agents the same.
    An agent's reward is its turn's reward less the mean of the others'. To keep returns zero-sum,
    an agent whose copy has ended stays until the last copy ends; its responses have no effect.
    Then all leave, each with the flags of its own copy's end.

    `info` is that of the agent's copy; at the end it also has

    - `returns`: for each agent, the sum of its copy's rewards;
    - `winner`: the agent with the highest return, None for a tie.

    Args:
        env: The game.
        agents: Names of the agents, in their order.

    Raises:
        ValueError: There are fewer than two agents.
    """

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str]) -> None:
        if len(agents) < 2:
            raise ValueError(f"a duel needs at least two agents, got {list(agents)}")
        super().__init__(env, agents)
        self._source = env
        self._copies: dict[str, TextEnv[Any, Any]] = {}
        self._ends: dict[str, tuple[bool, bool]] = {}

    def text_env(self, agent: str) -> TextEnv[Any, Any]:
        """Return the copy that the agent plays, for `ragen_envs.core.policies`."""
        return self._copies[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode; the arguments are those of `TextEnv.reset`.

        Returns:
            The first observation and `info` of each agent.
        """
        text, info = self._source.reset(seed=seed, options=without_test_option(options))
        self.agents = self.possible_agents.copy()
        # Copied, since only the source knows the instance of a reset without a seed.
        self._copies = {agent: deepcopy(self._source) for agent in self.agents}
        self._points = dict.fromkeys(self.agents, 0)
        self._ends = {}
        self._infos: dict[str, dict[str, Any]] = {}
        first: dict[str, Observation] = {
            agent: {"text": f"{self._introduction(agent)}\n\n{text}"} for agent in self.agents
        }
        return first, {agent: info.copy() for agent in self.agents}

    def step(self, actions: dict[str, str]) -> ParallelStep:
        """Take one response of each agent whose copy has not ended.

        Returns:
            Observation, reward, terminated, truncated and `info` of each agent.

        Raises:
            ResetNeeded: No episode is running.
            ValueError: An agent's response is missing, or an agent is unknown.
            TypeError: The responses are not a dict, or a response is not a str.
        """
        playing = [agent for agent in self.agents if agent not in self._ends]
        responses = self._check_responses(actions, playing)
        agents, texts, gains = self.agents, dict[str, str](), dict.fromkeys(self.agents, 0)
        for agent, response in responses.items():
            texts[agent], gains[agent] = self._play(agent, response)
        over = len(self._ends) == len(agents)
        if over:
            self._finish()
        ends = self._ends if over else dict.fromkeys(agents, (False, False))
        return (
            {agent: self._observation(agent, texts.get(agent), over) for agent in agents},
            zero_sum(gains),
            {agent: ends[agent][0] for agent in agents},
            {agent: ends[agent][1] for agent in agents},
            {agent: self._infos[agent].copy() for agent in agents},
        )

    def check_response(self, agent: str, response: object) -> None:
        """Reject a response that `step` would reject; a waiting agent may give anything.

        Raises:
            TypeError: The response of a playing agent is not a str.
        """
        if agent not in self._ends:
            self._check_responses({agent: response}, [agent])

    def render(self) -> str | None:
        """Return the state of each copy as text in mode "ansi", else None.

        Raises:
            ResetNeeded: No episode has started.
        """
        if self.render_mode is None or not self._copies:
            state: str | None = self._source.render()
            return state
        return "\n\n".join(f"{agent}:\n{copy.render()}" for agent, copy in self._copies.items())

    def _play(self, agent: str, response: str) -> tuple[str, int]:
        """Run a response in the agent's copy; return its text and hundredths of reward."""
        text, reward, terminated, truncated, info = self._copies[agent].step(response)
        self._infos[agent] = info
        if terminated or truncated:
            self._ends[agent] = terminated, truncated
        gain = round(100 * reward)
        self._points[agent] += gain
        return text, gain

    def _finish(self) -> None:
        returns = {agent: points / 100 for agent, points in self._points.items()}
        winner = find_winner(self._points)
        for info in self._infos.values():
            info.update(returns=returns.copy(), winner=winner)
        self.agents = []

    def _observation(self, agent: str, text: str | None, over: bool) -> Observation:
        parts = [] if text is None else [text]
        if over:
            parts.append(self._result())
        elif agent in self._ends:
            parts.append(_WAIT)
        return {"text": "\n".join(parts)}

    def _result(self) -> str:
        gained = ", ".join(f"{agent} {points / 100:g}" for agent, points in self._points.items())
        return (
            f"All games are over. Gained: {gained}. Winner: {find_winner(self._points) or 'none'}."
        )

    def _introduction(self, agent: str) -> str:
        others = ", ".join(name for name in self.possible_agents if name != agent)
        return (
            f"You are {agent} and play against {others}. Each plays a copy of the same game, "
            "with the same luck. You win by gaining more reward than the others."
        )
