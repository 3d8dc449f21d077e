"""Agents who answer one after the other: their turns, and the guard of the order."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)
from pettingzoo.utils.wrappers import OrderEnforcingWrapper  # type: ignore[import-untyped]

from ragen_envs.integrations.pettingzoo.seats import Observation, Seats


class TurnsEnv(Seats, AECEnv[str, Observation, str]):  # type: ignore[misc]
    """The turns of agents who answer one after the other and end together."""

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
        """Take the answer of `agent_selection`, or None if its episode is over.

        Raises:
            ResetNeeded: before the first `reset` and after all agents have left.
            TypeError: if the answer of an agent that plays is not a str.
            ValueError: if the answer of an agent whose episode is over is not None.
        """
        self._need_agents()
        agent: str = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        answer = self._answers({agent: action}, [agent])[agent]
        self._cumulative_rewards[agent] = 0.0
        self.rewards = self._turn(agent, answer)
        self._accumulate_rewards()
        self._report()
        self.agent_selection = self._next_agent()
        self._deads_step_first()

    @abstractmethod
    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start the game's episode."""

    @abstractmethod
    def _turn(self, agent: str, answer: str) -> dict[str, float]:
        """Take an agent's answer, and return every agent's reward."""

    @abstractmethod
    def _next_agent(self) -> str:
        """Return the agent who answers after `agent_selection`."""

    @abstractmethod
    def _report(self) -> None:
        """Set `infos`, `terminations` and `truncations` of all agents."""


class InOrder(OrderEnforcingWrapper):  # type: ignore[misc]
    """PettingZoo's guard of the order of calls, which here asks for a reset as all the suite does.

    Args:
        env: an AEC environment that has `agent_selection` once it was reset.
    """

    def step(self, action: str | None) -> None:
        """Take the answer of `agent_selection`, see the environment's own `step`.

        Raises:
            ResetNeeded: before the first `reset` and after all agents have left.
        """
        self._need_reset()
        if not self.agents:
            raise ResetNeeded("the episode is over: call reset() first")
        super().step(action)

    def observe(self, agent: str) -> Observation:
        """Return what an agent reads.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        self._need_reset()
        observation: Observation = super().observe(agent)
        return observation

    def render(self) -> str | None:
        """Return the present state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        self._need_reset()
        state: str | None = super().render()
        return state

    def __str__(self) -> str:
        """Return the environment's name."""
        return str(self.env)

    def _need_reset(self) -> None:
        if not hasattr(self.env, "agent_selection"):
            raise ResetNeeded("the episode never began: call reset() first")


class DuelTurnsEnv(parallel_to_aec_wrapper):  # type: ignore[misc]
    """A duel whose agents answer one after the other; the answers of a round are run together.

    Args:
        env: the duel.
    """

    def step(self, action: str | None) -> None:
        """Take the answer of `agent_selection`, or None if its episode is over.

        Answers are checked when they are given: found at the end of the round, a bad one could
        not be given again.

        Raises:
            TypeError: if the answer of an agent that plays is not a str.
            ValueError: if the answer of an agent whose episode is over is not None.
        """
        agent: str = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_answer(agent, action)
        elif action is not None:
            raise ValueError(f"the episode of {agent} is over: its only answer is None")
        super().step(action)
