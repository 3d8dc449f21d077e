"""A TextArena game with randomness of its own, and with nothing left of earlier episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import textarena  # type: ignore[import-untyped]
from gymnasium.error import Error
from textarena.envs.registration import ENV_REGISTRY  # type: ignore[import-untyped]
from textarena.envs.utils.jury import OpenRouterJury  # type: ignore[import-untyped]
from textarena.envs.utils.word_lists import EnglishDictionary  # type: ignore[import-untyped]

from ragen_envs.integrations.textarena.gamemaster import (
    Gamemaster,
    check,
    has_gamemaster,
    make_with,
)
from ragen_envs.integrations.textarena.randomness import OwnRandom
from ragen_envs.integrations.textarena.text import fit, transcript

# What games hold and do not change. Copies share it: dictionaries are large, and agents and
# juries are clients of services, which cannot be copied.
_SHARED = (EnglishDictionary, textarena.Agent, OpenRouterJury)
# What a game may fail with on an odd answer, such as int() of 5,000 digits.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_INVALID = -1.0
"""What TextArena's states give for an invalid move, unless a game says otherwise."""


class TextArenaGame:
    """A game of TextArena's registry, for a number of players.

    Args:
        env_id: an id of TextArena's registry.
        num_players: how many play.
        options: what TextArena hands to the game's constructor, and its gamemaster.

    Raises:
        TypeError: for a gamemaster that can reply to nothing.
        ValueError: for an id that TextArena does not know, or a gamemaster that it has no use for.
        gymnasium.error.Error: if TextArena cannot make the game here.
    """

    def __init__(self, env_id: str, num_players: int, options: dict[str, Any]) -> None:
        if env_id not in ENV_REGISTRY:
            raise ValueError(f"TextArena {textarena.__version__} knows no game {env_id!r}")
        self.env_id, self.num_players, self.options = env_id, num_players, options
        with OwnRandom(0).in_charge():
            self._pristine = _make(env_id, options)
        self.seed: int | None = None
        self.actions: list[str] = []
        """What the players answered in this episode."""

    def reset(self, seed: int) -> None:
        """Start an episode that depends on the seed alone.

        Raises:
            gymnasium.error.Error: if the game cannot be played by so many.
        """
        random = OwnRandom(seed)
        with random.in_charge():
            env = _copied(self._pristine)
            try:
                env.reset(num_players=self.num_players, seed=seed)
            except Exception as error:
                raise Error(
                    f"TextArena's {self.env_id} does not start with {self.num_players} players: "
                    f"{_first_line(error)}"
                ) from error
            self._random, self._env, self._core = random, env, _unwrapped(env)
            self.seed, self.actions, self.done, self.error = seed, [], False, ""
            self.step_info: dict[str, Any] = {}
            self._seen: dict[int, list[Any]] = {p: [] for p in range(self.num_players)}
            self._look()

    def step(self, action: str) -> bool:
        """Let the player whose turn it is answer.

        An answer on which the game fails with an error of its own ends the episode.

        Returns:
            Whether the episode is over.
        """
        with self._random.in_charge():
            self._seen[self.player] = []
            try:
                self.done, self.step_info = self._env.step(action)
                self._look()
            except _FAULTS as fault:
                self.done, self.error = True, _first_line(fault)
        self.actions.append(action)
        return self.done

    def _look(self) -> None:
        """Take the messages for the player whose turn it is now, as TextArena's loop does."""
        self.player, messages = self._core.get_observation()
        self._seen[self.player] += messages

    def observation(self, player: int) -> str:
        """Return what the player was told since its last answer."""
        state = self._core.state
        messages = self._seen[player] + state.observations[player]
        text = transcript(messages, player, state.role_mapping)
        reason = state.game_info[player].get("reason")
        if self.done and reason:  # which TextArena does not tell the players
            text += f"{text and chr(10)}[GAME] {reason}"
        return fit(text)

    @property
    def state(self) -> Any:
        """TextArena's state of the game."""
        return self._core.state

    def reward(self, player: int) -> float:
        """Return the player's reward at the end.

        Some games of TextArena 0.7.4 give the reason of an invalid move in the place of its
        reward; it counts as the -1 that TextArena's states give. So does an answer on which the
        game failed.
        """
        if self.error:
            return _INVALID if player == self.player else 0.0
        reward = (self.state.rewards or {}).get(player, 0.0)
        return _INVALID if isinstance(reward, str) or not math.isfinite(reward) else float(reward)

    def __deepcopy__(self, memo: dict[int, Any]) -> TextArenaGame:
        twin = object.__new__(TextArenaGame)
        memo[id(self)] = twin
        shared = ("_pristine", "_env", "_core", "options")
        vars(twin).update({k: deepcopy(v, memo) for k, v in vars(self).items() if k not in shared})
        twin._pristine, twin.options = self._pristine, self.options  # which never play
        if self.seed is not None:
            twin._env = _copied(self._env)
            twin._core = _unwrapped(twin._env)
        return twin

    @property
    def _replies(self) -> list[str]:
        """The replies of the gamemaster in this episode, which may not be the same once more."""
        gamemaster = None if self.seed is None else getattr(self._core, "gamemaster", None)
        return gamemaster.replies if isinstance(gamemaster, Gamemaster) else []

    def __reduce__(self) -> Any:
        # TextArena's wrappers cannot be pickled; the episode is played again instead.
        episode = None if self.seed is None else (self.seed, self.actions, self._replies)
        return _replayed, (self.env_id, self.num_players, self.options, episode)

    def replay(self, seed: int, actions: Sequence[str], replies: Sequence[str]) -> None:
        """Play an episode again.

        Args:
            seed: of the episode.
            actions: what the players answered.
            replies: those of its gamemaster.
        """
        self.reset(seed)
        if replies:
            self._core.gamemaster.repeat(replies)
        for action in actions:
            self.step(action)


def _replayed(
    env_id: str,
    num_players: int,
    options: dict[str, Any],
    episode: tuple[int, list[str], list[str]] | None,
) -> TextArenaGame:
    game = TextArenaGame(env_id, num_players, options)
    if episode is not None:
        game.replay(*episode)
    return game


def _make(env_id: str, options: dict[str, Any]) -> Any:
    rest = {name: option for name, option in options.items() if name != "gamemaster"}
    gamemaster = options.get("gamemaster")
    if gamemaster is not None:
        check(env_id, gamemaster)
    try:
        if gamemaster is not None:
            return make_with(gamemaster, env_id, rest)
        return textarena.make(env_id, **rest)
    except Exception as error:
        reason = _first_line(error)
        if isinstance(error, LookupError) and "nltk" in str(error):
            reason = "it needs data: python -m nltk.downloader words averaged_perceptron_tagger_eng"
        if "OPENROUTER_API_KEY" in str(error) and has_gamemaster(env_id):
            reason += " Or give gamemaster=, a function from str to str."
        raise Error(f"TextArena cannot make {env_id}: {reason}") from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _unwrapped(env: Any) -> Any:
    while isinstance(env, textarena.Wrapper):
        env = env.env
    return env


def _copied(env: Any) -> Any:
    held = vars(_unwrapped(env)).values()
    return deepcopy(env, {id(value): value for value in held if isinstance(value, _SHARED)})
