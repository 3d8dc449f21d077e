"""The agents of an environment: their names, their spaces, and checks of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypedDict, cast

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Text

from ragen_envs.core.text_env import TextEnv

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_LINE = 256
"""Characters that one agent's line of news, or one sentence about the agents, may take."""
_SENT_BY_TESTS = "options"
"""PettingZoo's `api_test` demands that `reset` takes this option; it means nothing."""


class Observation(TypedDict):
    """What an agent reads: plain str observations are not accepted by PettingZoo's tests."""

    text: str


ParallelStep: TypeAlias = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]
"""Of every agent: observation, reward, terminated, truncated, `info`."""


def names_of(agents: int | Sequence[str]) -> list[str]:
    """Return the agents' names: those given, or agent_0, agent_1 and so on for a number.

    Raises:
        ValueError: for no agent, a name twice, or one that is not 1 to 32 of A-Z a-z 0-9 _ -.
        TypeError: if `agents` is neither an int nor a sequence of str.
    """
    if isinstance(agents, (bool, str)) or not isinstance(agents, (int, Sequence)):
        raise TypeError(f"agents is a number or a list of names, got {agents!r}")
    names = [f"agent_{i}" for i in range(agents)] if isinstance(agents, int) else list(agents)
    if not names:
        raise ValueError(f"at least one agent has to play, got agents={agents!r}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"an agent's name is a str, got {name!r}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"an agent's name is 1 to 32 of A-Z a-z 0-9 _ -, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"two agents have the same name: {names}")
    return names


def without_test_option(options: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the reset options less the one that PettingZoo's own tests send."""
    if not isinstance(options, Mapping):
        return options  # which the game refuses, unless it is None
    return {key: value for key, value in options.items() if key != _SENT_BY_TESTS}


class Seats:
    """The part that all environments of the bridge share: agents, spaces, checks.

    Args:
        env: the game, of whose spaces every agent gets its own.
        agents: the names of those who play, in order.
    """

    _parallelizable: ClassVar[bool] = True
    """Whether all agents answer before anything happens, as PettingZoo's converters need."""

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
        observed, answered = env.observation_space, env.action_space
        assert isinstance(observed, Text)
        assert isinstance(answered, Text)
        longest = 2 * observed.max_length + _LINE * (env.budget.max_turns + len(agents) + 2)
        self._observation_spaces = {
            agent: Dict({"text": Text(longest, charset=observed.characters)}) for agent in agents
        }
        self._action_spaces = {
            agent: Text(answered.max_length, min_length=0, charset=answered.characters)
            for agent in agents
        }

    def observation_space(self, agent: str) -> Dict:
        """Return the space of what the agent reads, a dict with the key "text"."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Text:
        """Return the space of answers to sample from; any str is taken, whatever its length."""
        return self._action_spaces[agent]

    def close(self) -> None:
        """Close the environment, which holds nothing that needs it."""

    def _need_agents(self) -> None:
        if not self.agents:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _answers(self, actions: Mapping[str, object], awaited: Iterable[str]) -> dict[str, str]:
        """Return the answers of the awaited agents, or raise what `step` says it raises.

        All is checked before anything is run, so that an error leaves the game as it was.
        """
        self._need_agents()
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"step takes a dict, from each of {self.agents} to its answer, "
                f"got a {type(actions).__name__}"
            )
        if missing := [agent for agent in awaited if agent not in actions]:
            raise ValueError(f"no answer of {missing}: each of {self.agents} has to answer")
        if strangers := [agent for agent in actions if agent not in self.agents]:
            raise ValueError(f"answers of {strangers}, but only {self.agents} play")
        for agent in awaited:
            if not isinstance(actions[agent], str):
                raise TypeError(
                    f"an answer is a str, got {type(actions[agent]).__name__} of {agent}"
                )
        return {agent: cast(str, actions[agent]) for agent in awaited}
