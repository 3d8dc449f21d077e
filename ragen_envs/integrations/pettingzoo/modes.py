"""The modes in which several agents play a game: one shared episode, or a duel on copies."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from pettingzoo import ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import (  # type: ignore[import-untyped]
    parallel_to_aec_wrapper,
)

from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.pettingzoo.agents import (
    MultiAgentBase,
    Observation,
    ParallelStep,
    TurnsEnv,
)

_WAIT = "Your game is over, and others still play. Your answers do nothing until they end."
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
    """One episode whose turns the agents take in rotation, with equal rewards and a common end."""

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
        # Copied, since only the source knows the instance of a reset without a seed. The spaces,
        # most of the work, are shared: a copy does not sample from them.
        spaces = self._env.observation_space, self._env.action_space
        self._copies = {
            agent: deepcopy(self._env, {id(space): space for space in spaces})
            for agent in self.agents
        }
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
        """Take the response of `agent_selection`, checked at once, or None after its end."""
        agent: str = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_response(agent, action)
        elif action is not None:
            raise ValueError(f"the episode of {agent} is over; its response must be None")
        super().step(action)
