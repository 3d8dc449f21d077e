"""Turns in order, and each answer checked when it is given."""

from __future__ import annotations

from gymnasium.error import ResetNeeded
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)
from pettingzoo.utils.wrappers import OrderEnforcingWrapper  # type: ignore[import-untyped]

from ragen_envs.pettingzoo.seats import Observation


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
        told: Observation = super().observe(agent)
        return told

    def render(self) -> str | None:
        """Return the present state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        self._need_reset()
        shown: str | None = super().render()
        return shown

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
