"""TextArena's single-player games as Gymnasium environments."""

from __future__ import annotations

from copy import deepcopy

import gymnasium

from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import check_step
from ragen_envs.integrations.textarena.game import (
    SEEDS,
    TextArenaGame,
    action_space,
    observation_space,
)


class TextArenaEnv(gymnasium.Env[str, str]):
    """A single-player game of TextArena.

    An observation holds the game's messages since the last response; the rules are in the first
    one only. Characters outside the observation space are replaced, see
    `ragen_envs.integrations.textarena.game`.

    A response on which the game raises an error ends the episode: `truncated`, with reward -1 and
    `info["error"]`. Responses pass through the action wrappers that TextArena registers for the id.

    The reward is 0 until the game ends, and then TextArena's. TextArena's turn limits are rules
    that end with a reward, so such an episode is `terminated`.

    Args:
        env_id: Id in TextArena's registry, such as "Mastermind-v0".
        render_mode: None, the only mode.
        options: Arguments of the game's constructor, such as `max_turns`. A game with a gamemaster,
            which is a model on OpenRouter in TextArena, also takes `gamemaster`: a function from
            the request to the reply, or "rule" for `rule_gamemaster` and the words that it knows.
            It is called while the game's random state is active, so its draws depend on the seed.
            Copies share it.

    Raises:
        TypeError: The gamemaster is not a function.
        ValueError: TextArena does not know the id, `render_mode` is not None, or the game has no
            gamemaster.
        gymnasium.error.Error: TextArena cannot make the game on this machine.
    """

    metadata: Info = {"render_modes": []}

    def __init__(self, env_id: str, render_mode: None = None, **options: object) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode must be None, got {render_mode!r}")
        self.render_mode = None
        self.observation_space = observation_space()
        self.action_space = action_space()
        self._game = TextArenaGame(env_id, 1, options)
        self._running = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start an episode; the options must be empty.

        The seed, drawn from `np_random` if None, determines the instance and the game's luck. One
        that is not a non-negative int raises `gymnasium.error.Error`.
        """
        if options:
            raise ValueError(
                f"unknown reset options {sorted(options, key=repr)}; a game takes none"
            )
        super().reset(seed=seed)
        self._game.reset(int(self.np_random.integers(SEEDS)) if seed is None else int(seed))
        self._running = True
        return self._game.observation(0), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Pass one response, any str, to the game.

        If the caller's gamemaster fails with a `gymnasium.error.Error`, the same response may be
        given again.
        """
        check_step(action, self._running)
        game = self._game
        self._running = not game.step(action)
        reward = game.reward(0) if game.done else 0.0
        failed = bool(game.error)
        return game.observation(0), reward, game.done and not failed, failed, self._info()

    def __deepcopy__(self, memo: dict[int, object]) -> TextArenaEnv:
        # The gamemaster, in the spec and the game, may be a model or a client of a service.
        gamemaster = self._game.options.get("gamemaster")
        memo[id(gamemaster)] = gamemaster
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        vars(twin).update(deepcopy(vars(self), memo))
        return twin

    def _info(self) -> Info:
        """Return the keys of this suite's games, and TextArena's own.

        - `success`: the game ended with a reward of at least 1;
        - `score`: the final reward, clipped to [0, 1]; 0 before;
        - `action_is_valid`: the game did not reject the last response as an invalid move;
        - `error`: the game's error in one line, or "";
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
