"""TextArena's multi-player games as PettingZoo environments."""

from __future__ import annotations

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Text
from gymnasium.utils.seeding import np_random
from pettingzoo import AECEnv  # type: ignore[import-untyped]

from ragen_envs.core.text_game import Info
from ragen_envs.integrations.textarena.game import (
    SEEDS,
    TextArenaGame,
    action_space,
    observation_space,
)


class TextArenaAEC(AECEnv[str, dict[str, str], str]):  # type: ignore[misc]
    """A game of TextArena for several players.

    Agents are named "player_0" and so on. An observation is {"text": messages since the agent's
    last response}. The game decides whose turn it is: after an invalid move it may be the same
    agent's again. Rewards are 0 until the game ends. If the game fails on a response, all agents
    are truncated, and the agent that gave it gets -1. Arguments and errors are those of
    `pettingzoo_env`.
    """

    render_mode = None

    def __init__(self, env_id: str, num_players: int = 2, **options: object) -> None:
        super().__init__()
        if num_players < 1:
            raise ValueError(f"num_players must be at least 1, got {num_players}")
        self.metadata = {"name": env_id, "render_modes": [], "is_parallelizable": False}
        self._game = TextArenaGame(env_id, num_players, options)
        self.possible_agents = [f"player_{i}" for i in range(num_players)]
        self.observation_spaces = {
            agent: Dict({"text": observation_space()}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space() for agent in self.possible_agents}
        self._number = {agent: i for i, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self._draw, _ = np_random()

    def observation_space(self, agent: str) -> Dict:
        """Return the space of the agent's observations, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Text:
        """Return the space of the agent's responses, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Info | None = None) -> None:  # noqa: ARG002
        """Start an episode.

        Later resets without a seed draw theirs from this one. The options are ignored; PettingZoo's
        tests pass some.
        """
        if seed is not None:
            self._draw, _ = np_random(seed)
        self._game.reset(int(self._draw.integers(SEEDS)) if seed is None else int(seed))
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Info] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._game.player]

    def observe(self, agent: str) -> dict[str, str]:
        """Return the messages to the agent since its last response."""
        if self._game.seed is None:
            raise ResetNeeded("the episode never began: call reset() first")
        return {"text": self._game.observation(self._number[agent])}

    def step(self, action: str | None) -> None:
        """Take the selected agent's response; after the end, None removes the agent."""
        if not self.agents:
            raise ResetNeeded("the episode is over or never began: call reset() first")
        if self._game.done:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise TypeError(f"a response must be a str, got {type(action).__name__}")
        self._cumulative_rewards[self.agent_selection] = 0.0
        game = self._game
        if game.step(action):
            for agent, number in self._number.items():
                self.rewards[agent] = reward = game.reward(number)
                self.infos[agent] = {
                    "success": reward > 0,
                    "error": game.error,
                    "game_info": dict(game.state.game_info[number]),
                }
            self.terminations = dict.fromkeys(self.agents, not game.error)
            self.truncations = dict.fromkeys(self.agents, bool(game.error))
        self.agent_selection = self.possible_agents[game.player]
        self._accumulate_rewards()

    def close(self) -> None:
        """Do nothing; PettingZoo's tests require it next to `render`."""

    def render(self) -> None:
        """Return None; there is nothing to show but the observations."""
