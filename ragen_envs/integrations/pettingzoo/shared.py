"""One episode that several agents share: in turns (AEC), or all at once (parallel)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.pettingzoo.room import Room
from ragen_envs.integrations.pettingzoo.seats import Observation, ParallelStep, Seats
from ragen_envs.integrations.pettingzoo.turns import TurnsEnv


class _Shared(Seats):
    """The room of both forms.

    Raises:
        ValueError: for more agents than the game has turns, some of which could never answer.
    """

    _manner: str

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str]) -> None:
        turns = env.budget.max_turns
        if len(agents) > turns:
            raise ValueError(
                f"{env.variant.name} has {turns} turns in all, too few for {len(agents)} agents: "
                f"take at most {turns}, or mode='duel'"
            )
        super().__init__(env, agents)
        self._room = Room(env, agents, self._manner)

    def text_env(self, agent: str) -> TextEnv[Any, Any]:  # noqa: ARG002 (all agents share it)
        """Return the game that the agent plays, for `ragen_envs.core.policies`."""
        return self._room.env

    def render(self) -> str | None:
        """Return the present state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        state: str | None = self._room.env.render()
        return state


class SharedTurnsEnv(_Shared, TurnsEnv):
    """One episode, whose turns the agents take in rotation.

    The reward of a turn is every agent's; all agents end together.

    Args:
        env: the game.
        agents: the names of those who play, in order.
    """

    _manner = "answer one after the other, in this order"

    def observe(self, agent: str) -> Observation:
        """Return what the agent has not been told yet, and the state."""
        return self._room.tell(agent)

    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        self._room.reset(seed, options)

    def _turn(self, agent: str, answer: str) -> dict[str, float]:
        self._room.ask([agent])
        return dict.fromkeys(self.agents, self._room.answer(agent, answer))

    def _next_agent(self) -> str:
        return self.agents[(self.agents.index(self.agent_selection) + 1) % len(self.agents)]

    def _report(self) -> None:
        room = self._room
        self.infos = room.infos
        self.terminations = dict.fromkeys(self.agents, room.terminated)
        self.truncations = dict.fromkeys(self.agents, room.truncated)


class SharedParallelEnv(_Shared, ParallelEnv[str, Observation, str]):  # type: ignore[misc]
    """One episode, in which all agents answer at once and the answers run in the agents' order.

    It plays as `SharedTurnsEnv` would with the same answers: each is a turn of the one budget.
    When the episode ends within a round, the answers that are left do nothing. The rewards of a
    round add up to every agent's reward; all agents end together.

    Args:
        env: the game.
        agents: the names of those who play, in order.
    """

    _manner = "answer at the same time; the answers are run in this order"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode; the arguments are those of `TextEnv.reset`.

        Returns:
            Of every agent the first observation and `info`.
        """
        self._room.reset(seed, options)
        self.agents = self.possible_agents.copy()
        return {agent: self._room.tell(agent) for agent in self.agents}, self._room.infos

    def step(self, actions: dict[str, str]) -> ParallelStep:
        """Take one answer of every agent.

        Returns:
            Of every agent: observation, reward, terminated, truncated, `info`.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            ValueError: if an agent's answer is missing, or an agent is unknown.
            TypeError: if the answers are not a dict, or an answer is not a str.
        """
        agents, room = self.agents, self._room
        answers = self._answers(actions, agents)
        room.ask(agents)
        # Rewards are hundredths: added up as such they stay exact.
        points = sum(round(100 * room.answer(agent, answer)) for agent, answer in answers.items())
        if room.over:
            self.agents = []
        return (
            {agent: room.tell(agent) for agent in agents},
            dict.fromkeys(agents, points / 100),
            dict.fromkeys(agents, room.terminated),
            dict.fromkeys(agents, room.truncated),
            room.infos,
        )
