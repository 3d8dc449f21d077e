"""Turn-based multi-agent environments, and the wrapper that checks the order of calls."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)
from pettingzoo.utils.wrappers import OrderEnforcingWrapper  # type: ignore[import-untyped]

from ragen_envs.integrations.pettingzoo.agents import MultiAgentBase, Observation


class TurnsEnv(MultiAgentBase, AECEnv[str, Observation, str]):  # type: ignore[misc]
    """Agents that respond one after the other and end together."""

    _parallelizable = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        self._start(seed, options)
        self.agents = self.possible_agents.copy()
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._report()

    def step(self, action: str | None) -> None:
        """Take the response of `agent_selection`, or None after its end.

        Raises:
            ResetNeeded: No agent is playing.
            TypeError: The response of a playing agent is not a str.
            ValueError: The response of an agent that has ended is not None.
        """
        self._check_running()
        agent: str = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        response = self._check_responses({agent: action}, [agent])[agent]
        self._cumulative_rewards[agent] = 0.0
        self.rewards = self._turn(agent, response)
        self._accumulate_rewards()
        self._report()
        self.agent_selection = self._next_agent()
        self._deads_step_first()

    @abstractmethod
    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start the game's episode."""

    @abstractmethod
    def _turn(self, agent: str, response: str) -> dict[str, float]:
        """Take an agent's response, and return each agent's reward."""

    @abstractmethod
    def _next_agent(self) -> str:
        """Return the agent that responds after `agent_selection`."""

    @abstractmethod
    def _report(self) -> None:
        """Set `infos`, `terminations` and `truncations` of all agents."""


class OrderCheck(OrderEnforcingWrapper):  # type: ignore[misc]
    """PettingZoo's check of the order of calls, with the suite's `ResetNeeded`."""

    def step(self, action: str | None) -> None:
        """Take the response of `agent_selection`, see the environment's `step`.

        Raises:
            ResetNeeded: No agent is playing.
        """
        self._check_reset()
        if not self.agents:
            raise ResetNeeded("the episode is over: call reset() first")
        super().step(action)

    def observe(self, agent: str) -> Observation:
        """Return the agent's observation.

        Raises:
            ResetNeeded: No episode has started.
        """
        self._check_reset()
        observation: Observation = super().observe(agent)
        return observation

    def render(self) -> str | None:
        """Return the current state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: No episode has started.
        """
        self._check_reset()
        state: str | None = super().render()
        return state

    def __str__(self) -> str:
        """Return the environment's name."""
        return str(self.env)

    def _check_reset(self) -> None:
        if not hasattr(self.env, "agent_selection"):
            raise ResetNeeded("the episode never began: call reset() first")


class DuelTurnsEnv(parallel_to_aec_wrapper):  # type: ignore[misc]
    """A duel whose agents respond one after the other; the responses of a round run together."""

    def step(self, action: str | None) -> None:
        """Take the response of `agent_selection`, or None after its end.

        Responses are checked at once, since an invalid one could not be repeated after the round.

        Raises:
            TypeError: The response of a playing agent is not a str.
            ValueError: The response of an agent that has ended is not None.
        """
        agent: str = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_response(agent, action)
        elif action is not None:
            raise ValueError(f"the episode of {agent} is over; its response must be None")
        super().step(action)
