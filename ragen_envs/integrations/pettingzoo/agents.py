"""Base classes of multi-agent environments: names, spaces, turns and checks of responses."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeAlias, TypedDict, cast

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Text
from pettingzoo import AECEnv  # type: ignore[import-untyped]
from pettingzoo.utils.wrappers import OrderEnforcingWrapper  # type: ignore[import-untyped]

from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_LINE = 256
"""Maximum length of a line of news, or of a sentence about an agent."""


class Observation(TypedDict):
    """An observation as a dict, since PettingZoo's tests do not accept a str."""

    text: str


ParallelStep: TypeAlias = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]
]
"""Observation, reward, terminated, truncated and `info` of each agent."""


def agent_names(agents: int | Sequence[str]) -> list[str]:
    """Return the agents' names, agent_0, agent_1, ... for a number; raise for invalid ones."""
    if isinstance(agents, (bool, str)) or not isinstance(agents, (int, Sequence)):
        raise TypeError(f"agents must be a number or a list of names, got {agents!r}")
    names = [f"agent_{i}" for i in range(agents)] if isinstance(agents, int) else list(agents)
    if not names:
        raise ValueError(f"agents must name at least one agent, got {agents!r}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"an agent's name must be a str, got {name!r}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"an agent's name must be 1 to 32 of A-Z a-z 0-9 _ -, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"two agents have the same name: {names}")
    return names


class MultiAgentBase:
    """Agents in their order, their spaces and the checks of their responses."""

    _parallelizable: ClassVar[bool] = True
    """Whether all agents respond before a step runs, as PettingZoo's converters require."""

    def __init__(self, env: AnyTextEnv, agents: Sequence[str]) -> None:
        self._env = env
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self.render_mode = env.render_mode
        self.metadata = {
            "name": f"ragen/{env.variant.name}",
            "render_modes": ["ansi"],
            "render_fps": 1,
            "is_parallelizable": self._parallelizable,
        }
        observations, actions = env.observation_space, env.action_space
        assert isinstance(observations, Text)
        assert isinstance(actions, Text)
        longest = 2 * observations.max_length + _LINE * (env.budget.max_turns + len(agents) + 2)
        self._observation_spaces = {
            agent: Dict({"text": Text(longest, charset=observations.characters)})
            for agent in agents
        }
        self._action_spaces = {
            agent: Text(actions.max_length, min_length=0, charset=actions.characters)
            for agent in agents
        }

    def observation_space(self, agent: str) -> Dict:
        """Return the space of the agent's observations, a dict with the key "text"."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Text:
        """Return a space to sample responses from; `step` accepts any str."""
        return self._action_spaces[agent]

    def text_env(self, agent: str) -> AnyTextEnv:  # noqa: ARG002 (all agents share it)
        """Return the game that the agent plays, for `ragen_envs.core.policies`."""
        return self._env

    def render(self) -> str | None:
        """Return the current state as text in mode "ansi", else None.

        Raises:
            ResetNeeded: No episode has started.
        """
        state: str | None = self._env.render()
        return state

    def _reset_game(self, seed: int | None, options: Info | None) -> tuple[str, Info]:
        """Reset the game without the option "options", which PettingZoo's `api_test` sends."""
        if isinstance(options, Mapping):  # any other value is None, or rejected by the game
            options = {key: value for key, value in options.items() if key != "options"}
        return self._env.reset(seed=seed, options=options)

    def _check_running(self) -> None:
        if not self.agents:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _check_responses(
        self, actions: Mapping[str, object], expected: Iterable[str]
    ) -> dict[str, str]:
        """Return the expected agents' responses; raise the errors of `step` before any runs."""
        self._check_running()
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"step takes a dict with a response of each of {self.agents}, "
                f"got a {type(actions).__name__}"
            )
        if missing := [agent for agent in expected if agent not in actions]:
            raise ValueError(f"no response of {missing}; each of {self.agents} must respond")
        if unknown := [agent for agent in actions if agent not in self.agents]:
            raise ValueError(f"responses of {unknown}, but only {self.agents} play")
        for agent in expected:
            if not isinstance(actions[agent], str):
                raise TypeError(
                    f"a response must be a str, got {type(actions[agent]).__name__} of {agent}"
                )
        return {agent: cast(str, actions[agent]) for agent in expected}


class TurnsEnv(MultiAgentBase, AECEnv[str, Observation, str]):  # type: ignore[misc]
    """Agents that respond one after the other and end together."""

    _parallelizable = False

    def reset(self, seed: int | None = None, options: Info | None = None) -> None:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        self._start(seed, options)
        self.agents = self.possible_agents.copy()
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._report()

    def step(self, action: str | None) -> None:
        """Take the response of `agent_selection`, or None after its end."""
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
    def _start(self, seed: int | None, options: Info | None) -> None:
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
        """Take the response of `agent_selection`, see the environment's `step`."""
        self._check_reset()
        if not self.agents:
            raise ResetNeeded("the episode is over: call reset() first")
        super().step(action)

    def observe(self, agent: str) -> Observation:
        """Return the agent's observation."""
        self._check_reset()
        observation: Observation = super().observe(agent)
        return observation

    def render(self) -> str | None:
        """Return the current state as text in mode "ansi", else None."""
        self._check_reset()
        state: str | None = super().render()
        return state

    def __str__(self) -> str:
        """Return the environment's name."""
        return str(self.env)

    def _check_reset(self) -> None:
        if not hasattr(self.env, "agent_selection"):
            raise ResetNeeded("the episode never began: call reset() first")
