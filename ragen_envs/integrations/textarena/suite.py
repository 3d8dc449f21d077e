"""This suite's games as TextArena environments."""

from __future__ import annotations

import math

import gymnasium
import textarena  # type: ignore[import-untyped]
from gymnasium.error import ResetNeeded
from textarena import ObservationType
from textarena.wrappers import (  # type: ignore[import-untyped]
    GameMessagesAndCurrentBoardObservationWrapper,
    LLMObservationWrapper,
)

from ragen_envs.core.arguments import noise_seed_of
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info


class SuiteGame(textarena.Env):  # type: ignore[misc]
    """A game of this suite as TextArena's environments are: `reset`, `get_observation`, `step`.

    The player reads the rules and the response format in a PROMPT, then the state in a GAME_BOARD.
    After each response, the feedback is a GAME_MESSAGE and the next state a GAME_BOARD. At the end
    `close` returns the rewards, {0: the episode's return}, and the game's info. Episodes with a
    seed have the noise of `noise_seed`.
    """

    def __init__(
        self,
        game: str,
        split: str = "train",
        response_format: AnswerFormat = "think",
        noise_seed: int = 0,
    ) -> None:
        self.text_env: AnyTextEnv = gymnasium.make(  # type: ignore[assignment]
            game, split=split, response_format=response_format, render_mode="ansi"
        ).unwrapped
        self._noise = {"noise_seed": noise_seed_of({"noise_seed": noise_seed})}
        self._state: textarena.State | None = None

    @property
    def state(self) -> textarena.State:
        """TextArena's state of the episode."""
        if self._state is None:
            raise ResetNeeded("the episode never began: call reset() first")
        return self._state

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Start an episode; `seed` is the index of the instance in the split, drawn if None."""
        if num_players != 1:
            raise ValueError(f"this suite's games have 1 player, got {num_players}")
        options = None if seed is None else self._noise
        observation, info = self.text_env.reset(seed=seed, options=options)
        board = self.get_board_str()
        # Given a seed, TextArena's state would seed the global generator.
        self._state = textarena.SinglePlayerState(num_players=1, seed=None)
        self._state.reset(
            game_state={"observation": observation, "info": info},
            player_prompt_function=lambda **_: observation.replace(f"\n\n{board}\n\n", "\n\n", 1),
        )
        self._send(board, ObservationType.GAME_BOARD)
        self._rewards: list[float] = []

    def step(self, action: str) -> tuple[bool, Info]:
        """Take one response; return whether the episode is over, and the turn's info.

        The info has the turn's `reward`, `terminated` and `truncated`, too.
        """
        observation, reward, terminated, truncated, info = self.text_env.step(action)
        state, board = self.state, self.get_board_str()
        self._rewards.append(reward)
        state.add_observation(
            from_id=0, message=action, observation_type=ObservationType.PLAYER_ACTION
        )
        self._send(observation.removesuffix(f"\n{board}"), ObservationType.GAME_MESSAGE)
        self._send(board, ObservationType.GAME_BOARD)
        state.game_state = {"observation": observation, "info": info}
        state.step_info = {
            **info,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        if terminated or truncated:
            # Rewards are hundredths, so rounding removes the error of the sum.
            total = round(math.fsum(self._rewards), 10)
            state.set_outcome(total, "solved" if info["success"] else "over")
            state.game_info[0] |= info | {"invalid_move": not info["action_is_valid"]}
        done: tuple[bool, Info] = state.step()
        return done

    def get_board_str(self) -> str:
        """Return the current state as text, for TextArena's renderer."""
        return self.text_env.render() or ""

    def _send(self, message: str, kind: ObservationType) -> None:
        self.state.add_observation(message=message, observation_type=kind)


class _OneEpisode:
    """Clears the messages of TextArena's observation wrappers at each reset."""

    env: textarena.Env

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Start an episode; the arguments are those of `SuiteGame.reset`."""
        self.full_observations: dict[int, list[textarena.Message]] = {}
        self.env.reset(num_players=num_players, seed=seed)

    def __setstate__(self, state: dict[str, object]) -> None:
        # The default would call TextArena's `__getattr__`, which recurses without end.
        vars(self).update(state)


class Transcript(_OneEpisode, LLMObservationWrapper):  # type: ignore[misc]
    """All messages of the episode, as TextArena's `LLMObservationWrapper` writes them."""


class BoardView(_OneEpisode, GameMessagesAndCurrentBoardObservationWrapper):  # type: ignore[misc]
    """Prompt, messages of the game and present state: the view of TextArena's "-train" ids."""
