"""TextArena's games for one player, as Gymnasium environments."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from ragen_envs.integrations.textarena.game import TextArenaGame
from ragen_envs.integrations.textarena.text import action_space, observation_space

_SEEDS = 1 << 62


class TextArenaEnv(gymnasium.Env[str, str]):
    """A single-player game of TextArena.

    An observation is what the game has said since the last answer. The player keeps the rest:
    the first observation holds the rules, and nothing of it is said again. Characters that the
    observation space lacks are replaced, see `ragen_envs.integrations.textarena.text`.

    An answer on which the game fails with an error of its own ends the episode: `truncated`, with
    reward -1 and `info["error"]`.

    Answers pass through the action wrappers that TextArena registers for the id.

    The reward is 0 until the game ends, and then TextArena's. TextArena's limits of turns are
    rules of its games, which end with a reward, so such an episode is `terminated`.

    Args:
        env_id: an id of TextArena's registry, such as "Mastermind-v0".
        render_mode: None, the only mode.
        options: what TextArena hands to the game's constructor, such as `max_turns`. A game with a
            gamemaster, which TextArena asks OpenRouter for, takes `gamemaster` beside them: a
            function from the request to the reply, or "rule" for `rule_gamemaster` and the words
            that it knows. It is asked while the game's own generators are in place, so what it
            draws depends on the seed. Copies share it.

    Raises:
        TypeError: for a gamemaster that is neither.
        ValueError: for an id that TextArena does not know, a render mode, or a gamemaster where
            the game has none.
        gymnasium.error.Error: if TextArena cannot make the game here.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, env_id: str, render_mode: None = None, **options: Any) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode {render_mode!r} is unknown; the only one is None")
        self.render_mode = None
        self.observation_space = observation_space()
        self.action_space = action_space()
        self._game = TextArenaGame(env_id, 1, options)
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: decides the instance and the game's luck. Without one the next is drawn from
                `np_random`.
            options: none are known.

        Returns:
            What the game says first, and `info`.

        Raises:
            ValueError: for an option.
            gymnasium.error.Error: for a seed that is not an int of at least 0.
        """
        if options:
            raise ValueError(f"unknown reset options {sorted(options, key=repr)}; there are none")
        super().reset(seed=seed)
        self._game.reset(int(self.np_random.integers(_SEEDS)) if seed is None else int(seed))
        self._running = True
        return self._game.observation(0), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Hand one answer to the game.

        Args:
            action: the whole answer, any str.

        Returns:
            Observation, reward, terminated, truncated and `info`.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
            gymnasium.error.Error: if the caller's gamemaster failed; the same answer may be
                given again.
        """
        if not self._running:
            raise ResetNeeded("the episode is over or never began: call reset() first")
        if not isinstance(action, str):
            raise TypeError(f"an answer is a str, got {type(action).__name__}")
        game = self._game
        self._running = not game.step(action)
        reward = game.reward(0) if game.done else 0.0
        failed = bool(game.error)
        return game.observation(0), reward, game.done and not failed, failed, self._info()

    def __deepcopy__(self, memo: dict[int, Any]) -> TextArenaEnv:
        # The spec and the game hold the gamemaster, who may be a model or a client of a service.
        gamemaster = self._game.options.get("gamemaster")
        memo[id(gamemaster)] = gamemaster
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        vars(twin).update(deepcopy(vars(self), memo))
        return twin

    def _info(self) -> dict[str, Any]:
        """Return the figures that this suite's games give, and TextArena's own.

        - `success`: the game ended with a reward of 1 or more;
        - `score`: the reward at the end within [0, 1]; 0 before;
        - `action_is_valid`: the game did not call the last answer an invalid move;
        - `error`: what the game failed with, in one line, else "";
        - `turn`, `seed`; `step_info`, `game_info`, `rewards`: TextArena's.
        """
        game, state = self._game, self._game.state
        reward = game.reward(0) if game.done else 0.0
        return {
            "success": reward >= 1,
            "score": min(max(reward, 0.0), 1.0),
            "action_is_valid": bool(game.actions)
            and not (game.error or state.error_count or state.game_info[0]["invalid_move"]),
            "turn": len(game.actions),
            "seed": game.seed,
            "error": game.error,
            "step_info": dict(game.step_info),
            "game_info": dict(state.game_info[0]),
            "rewards": state.rewards and dict(state.rewards),
        }
