"""One episode shared by several agents, in turns (AEC) or at the same time (parallel)."""

from __future__ import annotations

from collections.abc import Sequence

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.pettingzoo.agents import (
    MultiAgentBase,
    Observation,
    ParallelStep,
    TurnsEnv,
)

_RESPONSE_FLAGS = (
    "format_is_valid",
    "action_is_valid",
    "action_is_effective",
    "answer_is_example",
)
"""Keys of `info` about the latest response, not about the game."""
_NOT_RUN = "The episode was over, so nothing was done."


class _SharedEpisode(MultiAgentBase):
    """One episode in which several agents respond, with a single budget.

    The effect of a response is a line of news. Each agent reads it once, in its next observation,
    in the order of the responses. A single agent reads the game's texts only.

    Raises:
        ValueError: There are more agents than turns, so that some could never respond.
    """

    _manner: str
    """Description of the turn order, for the first observation."""

    def __init__(self, env: AnyTextEnv, agents: Sequence[str]) -> None:
        turns = env.budget.max_turns
        if len(agents) > turns:
            raise ValueError(
                f"{env.variant.name} has {turns} turns in all, too few for {len(agents)} agents; "
                f"use at most {turns}, or mode='duel'"
            )
        super().__init__(env, agents)

    def observe(self, agent: str) -> Observation:
        """Return the text that the agent has not read yet.

        It holds the rules and the first state before the agent's first response, then the news
        since its last one, and the current state after any news.
        """
        read_count = self._read_count[agent]
        parts = [self._first] if read_count is None else []
        if read_count is None and len(self.possible_agents) > 1:
            parts[0] = (
                f"You are {agent}. {', '.join(self.possible_agents)} play this game together and "
                f"{self._manner}. Turns, actions and rewards are those of all.\n\n{self._first}"
            )
        if news := self._news[read_count or 0 :]:
            parts.append("\n".join([*news, self._state]))
        return {"text": "\n\n".join(parts)}

    def _begin(self, seed: int | None, options: Info | None) -> None:
        self._first, info = self._reset_game(seed, options)
        self._state = ""
        self._news: list[str] = []
        self._read_count: dict[str, int | None] = dict.fromkeys(self.possible_agents)
        self._infos = {agent: info.copy() for agent in self.possible_agents}
        self._terminated = self._truncated = False

    def _copy_infos(self) -> dict[str, Info]:
        """Return, for each agent, the game's `info` with the flags of its latest response."""
        return {agent: info.copy() for agent, info in self._infos.items()}

    def _mark_read(self, agents: Sequence[str]) -> None:
        """Record that these agents respond now, after reading all news so far."""
        self._read_count.update(dict.fromkeys(agents, len(self._news)))

    def _respond(self, agent: str, response: str) -> float:
        """Run an agent's response; after the end of the episode it has no effect and no cost."""
        feedback, reward = _NOT_RUN, 0.0
        if self._terminated or self._truncated:
            self._infos[agent].update(dict.fromkeys(_RESPONSE_FLAGS, False))
        else:
            text, reward, self._terminated, self._truncated, info = self._env.step(response)
            feedback, _, self._state = text.partition("\n")
            for other, previous in self._infos.items():
                self._infos[other] = info | {flag: previous[flag] for flag in _RESPONSE_FLAGS}
            self._infos[agent] = info
        is_alone = len(self.possible_agents) == 1
        self._news.append(feedback if is_alone else f"{agent}: {feedback}")
        return reward


class SharedTurnsEnv(_SharedEpisode, TurnsEnv):
    """One episode whose turns the agents take in rotation.

    All agents receive the reward of each turn, and end together.
    """

    _manner = "answer one after the other, in this order"

    def _start(self, seed: int | None, options: Info | None) -> None:
        self._begin(seed, options)

    def _turn(self, agent: str, response: str) -> dict[str, float]:
        self._mark_read([agent])
        return dict.fromkeys(self.agents, self._respond(agent, response))

    def _next_agent(self) -> str:
        return self.agents[(self.agents.index(self.agent_selection) + 1) % len(self.agents)]

    def _report(self) -> None:
        self.infos = self._copy_infos()
        self.terminations = dict.fromkeys(self.agents, self._terminated)
        self.truncations = dict.fromkeys(self.agents, self._truncated)


class SharedParallelEnv(_SharedEpisode, ParallelEnv[str, Observation, str]):  # type: ignore[misc]
    """One episode in which all agents respond at the same time.

    The responses run in the agents' order, each as a turn, as in `SharedTurnsEnv`. If the episode
    ends within a round, the remaining responses have no effect. All agents receive the sum of the
    round's rewards, and end together.
    """

    _manner = "answer at the same time; the answers are run in this order"

    def reset(
        self, seed: int | None = None, options: Info | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        self._begin(seed, options)
        self.agents = self.possible_agents.copy()
        return {agent: self.observe(agent) for agent in self.agents}, self._copy_infos()

    def step(self, actions: dict[str, str]) -> ParallelStep:
        """Take one response of each agent."""
        agents = self.agents
        responses = self._check_responses(actions, agents)
        self._mark_read(agents)
        # Rewards are hundredths, so sums of hundredths are exact.
        points = sum(round(100 * self._respond(*response)) for response in responses.items())
        if self._terminated or self._truncated:
            self.agents = []
        return (
            {agent: self.observe(agent) for agent in agents},
            dict.fromkeys(agents, points / 100),
            dict.fromkeys(agents, self._terminated),
            dict.fromkeys(agents, self._truncated),
            self._copy_infos(),
        )
