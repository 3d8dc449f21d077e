"""Base class of multi-agent environments: names, spaces, and checks of responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypedDict, cast

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Text

from ragen_envs.core.text_env import TextEnv

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_LINE = 256
"""Maximum length of a line of news, or of a sentence about an agent."""
_TEST_OPTION = "options"
"""A reset option that PettingZoo's `api_test` sends; it has no effect."""


class Observation(TypedDict):
    """An observation as a dict, since PettingZoo's tests do not accept a str."""

    text: str


ParallelStep: TypeAlias = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]
"""Observation, reward, terminated, truncated and `info` of each agent."""


def agent_names(agents: int | Sequence[str]) -> list[str]:
    """Return the agents' names: the given ones, or agent_0, agent_1 and so on for a number.

    Raises:
        ValueError: `agents` is empty, a name occurs twice, or a name is not 1 to 32 characters
            of A-Z a-z 0-9 _ -.
        TypeError: `agents` is neither an int nor a sequence of str.
    """
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


def without_test_option(options: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the reset options without the one that PettingZoo's tests send."""
    if not isinstance(options, Mapping):
        return options  # None, or a value that the game rejects
    return {key: value for key, value in options.items() if key != _TEST_OPTION}


class MultiAgentBase:
    """Agents, spaces and checks of all multi-agent environments.

    Args:
        env: The game; each agent has its own copies of the game's spaces.
        agents: Names of the agents, in their order.
    """

    _parallelizable: ClassVar[bool] = True
    """Whether all agents respond before a step runs, as PettingZoo's converters require."""

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str]) -> None:
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self.render_mode = env.render_mode
        self.metadata: dict[str, Any] = {
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

    def close(self) -> None:
        """Do nothing; the environment holds no resources."""

    def _check_running(self) -> None:
        if not self.agents:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _check_responses(
        self, actions: Mapping[str, object], expected: Iterable[str]
    ) -> dict[str, str]:
        """Return the responses of the expected agents, or raise the errors of `step`.

        All responses are checked before any runs, so an error does not change the game.
        """
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
