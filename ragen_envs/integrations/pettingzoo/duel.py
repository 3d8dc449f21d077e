"""Duels: agents compete, each on its own copy of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)

from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.pettingzoo.agents import MultiAgentBase, Observation, ParallelStep

_WAIT = "Your game is over, and others still play. Your answers do nothing until they end."


def zero_sum(gains: dict[str, int]) -> dict[str, float]:
    """Return each agent's gain, in hundredths, less the mean of the others', in units."""
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

    Raises:
        ValueError: There are fewer than two agents.
    """

    def __init__(self, env: AnyTextEnv, agents: Sequence[str]) -> None:
        if len(agents) < 2:
            raise ValueError(f"a duel needs at least two agents, got {list(agents)}")
        super().__init__(env, agents)
        self._copies: dict[str, AnyTextEnv] = {}
        self._ends: dict[str, tuple[bool, bool]] = {}

    def text_env(self, agent: str) -> AnyTextEnv:
        """Return the copy that the agent plays, for `ragen_envs.core.policies`."""
        return self._copies[agent]

    def reset(
        self, seed: int | None = None, options: Info | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        text, info = self._reset_game(seed, options)
        self.agents = self.possible_agents.copy()
        # Copied, since only the source knows the instance of a reset without a seed.
        self._copies = {agent: deepcopy(self._env) for agent in self.agents}
        self._points = dict.fromkeys(self.agents, 0)
        self._ends = {}
        self._infos: dict[str, Info] = {}
        first: dict[str, Observation] = {}
        for agent in self.agents:
            others = ", ".join(name for name in self.agents if name != agent)
            first[agent] = {
                "text": f"You are {agent} and play against {others}. Each plays a copy of the "
                "same game, with the same luck. You win by gaining more reward than the others."
                f"\n\n{text}"
            }
        return first, {agent: info.copy() for agent in self.agents}

    def step(self, actions: dict[str, str]) -> ParallelStep:
        """Take one response of each agent whose copy has not ended."""
        playing = [agent for agent in self.agents if agent not in self._ends]
        responses = self._check_responses(actions, playing)
        agents, texts, gains = self.agents, dict[str, str](), dict.fromkeys(self.agents, 0)
        for agent, response in responses.items():
            texts[agent], reward, terminated, truncated, info = self._copies[agent].step(response)
            self._infos[agent] = info
            if terminated or truncated:
                self._ends[agent] = terminated, truncated
            gains[agent] = round(100 * reward)
            self._points[agent] += gains[agent]
        over = len(self._ends) == len(agents)
        notes = dict.fromkeys(agents, self._finish()) if over else dict.fromkeys(self._ends, _WAIT)
        ends = self._ends if over else dict.fromkeys(agents, (False, False))
        observations: dict[str, Observation] = {
            agent: {"text": "\n".join(part[agent] for part in (texts, notes) if agent in part)}
            for agent in agents
        }
        return (
            observations,
            zero_sum(gains),
            {agent: ends[agent][0] for agent in agents},
            {agent: ends[agent][1] for agent in agents},
            {agent: self._infos[agent].copy() for agent in agents},
        )

    def check_response(self, agent: str, response: object) -> None:
        """Reject a response that `step` would reject; a waiting agent may give anything."""
        if agent not in self._ends:
            self._check_responses({agent: response}, [agent])

    def render(self) -> str | None:
        """Return the state of each copy as text in mode "ansi", else None."""
        if self.render_mode is None or not self._copies:
            return super().render()
        return "\n\n".join(f"{agent}:\n{copy.render()}" for agent, copy in self._copies.items())

    def _finish(self) -> str:
        """End the episode, and return the result as text."""
        returns = {agent: points / 100 for agent, points in self._points.items()}
        winner = find_winner(self._points)
        for info in self._infos.values():
            info.update(returns=returns.copy(), winner=winner)
        self.agents = []
        gained = ", ".join(f"{agent} {value:g}" for agent, value in returns.items())
        return f"All games are over. Gained: {gained}. Winner: {winner or 'none'}."


class DuelTurnsEnv(parallel_to_aec_wrapper):  # type: ignore[misc]
    """A duel whose agents respond one after the other; the responses of a round run together."""

    def step(self, action: str | None) -> None:
        """Take the response of `agent_selection`, or None after its end.

        Responses are checked at once, since an invalid one could not be repeated after the round.
        """
        agent: str = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_response(agent, action)
        elif action is not None:
            raise ValueError(f"the episode of {agent} is over; its response must be None")
        super().step(action)
