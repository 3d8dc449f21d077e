"""A TextArena game with its own random state, independent of earlier episodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

import textarena  # type: ignore[import-untyped]
from gymnasium.error import Error
from gymnasium.spaces import Text
from textarena.envs.registration import ENV_REGISTRY  # type: ignore[import-untyped]
from textarena.envs.utils.jury import OpenRouterJury  # type: ignore[import-untyped]
from textarena.envs.utils.word_lists import EnglishDictionary  # type: ignore[import-untyped]

from ragen_envs.core.text_env import MAX_ACTION, PRINTABLE
from ragen_envs.integrations.global_random import RandomState
from ragen_envs.integrations.textarena.gamemaster import (
    Gamemaster,
    has_gamemaster,
    make_with,
)

# Characters other than printable ASCII and line breaks in the sources of TextArena 0.7.4's games.
_SYMBOLS = (
    "±·»Å×ßáãäåçèéëíñóôöúüāăēīŚș‑–—―‘’“”•…ℹ←↑→↓↔∈√≤≥⌨⏳─│┌┐└┘├┤┬┴┼╭╮╯╰╱╲█▔▢▫○●★♔♕♖♗♘♙♚♛♜♝♞♟♠♣♥♦⚕⚠⚪⚫"  # noqa: RUF001
    "✂✅✔❌❓❤➜⬛⬜🃏🌊🌾🎉🎮🎯🎰🎴🏁🏆🏪👤👨💀💎💡💦💬💰💸📄📊📋📖📜🔄🔍🔥🔲🔴🕵🗣🗳😈🟢🟥🟨🟩🤐🥇🥈🥉🧑🧠🪦🪨"
    "\u200d\ufe0f"
)
REPLACEMENT = "\ufffd"
"""Replaces each character outside `CHARSET`; no game's source contains it."""
CHARSET = PRINTABLE | frozenset(_SYMBOLS) | {"\t", REPLACEMENT}
"""The characters of observations."""
MAX_OBSERVATION = 32768
"""Maximum length of an observation; a longer one loses its middle."""
_GAP = "\n[...]\n"
# Constant attributes of games, which copies share: dictionaries are large, and agents and juries
# are clients of services, which cannot be copied.
_SHARED = (EnglishDictionary, textarena.Agent, OpenRouterJury)
# Errors of a game on an unusual response, such as int() of 5,000 digits.
_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_INVALID = -1.0
"""TextArena's default reward of an invalid move."""

SEEDS = 1 << 62
"""Upper bound of drawn seeds."""


def observation_space() -> Text:
    """Return a new space that contains every text of `fit_to_space`."""
    return Text(MAX_OBSERVATION, min_length=0, charset="".join(sorted(CHARSET)))


def action_space() -> Text:
    """Return a new space of responses; `step` accepts any str."""
    return Text(MAX_ACTION, min_length=0, charset="".join(sorted(PRINTABLE)))


def write_transcript(
    messages: Iterable[tuple[int, str, object]], player: int, roles: Mapping[int, str]
) -> str:
    """Write messages to the player as TextArena's `LLMObservationWrapper` does."""
    names = {textarena.GAME_ID: "GAME", **roles}
    answer = textarena.ObservationType.PLAYER_ACTION
    return "\n".join(
        f"[{names.get(sender, f'Player {sender}')}] {text}"
        for sender, text, kind in messages
        if not (sender == player and kind is answer)
    )


def fit_to_space(text: str) -> str:
    """Return the text with only the characters and length of the observation space."""
    if not CHARSET.issuperset(text):
        text = "".join(c if c in CHARSET else REPLACEMENT for c in text)
    if len(text) > MAX_OBSERVATION:
        half = (MAX_OBSERVATION - len(_GAP)) // 2
        text = text[:half] + _GAP + text[-half:]
    return text


class TextArenaGame:
    """A game of TextArena's registry, for a number of players.

    `options` are arguments of the game's constructor, and its gamemaster. Errors are those of
    `TextArenaEnv`.
    """

    def __init__(self, env_id: str, num_players: int, options: Mapping[str, object]) -> None:
        if env_id not in ENV_REGISTRY:
            raise ValueError(f"TextArena {textarena.__version__} has no game {env_id!r}")
        self.env_id, self.num_players, self.options = env_id, num_players, options
        with RandomState(0).activate():
            self._pristine = _make(env_id, options)
        self.seed: int | None = None
        self.actions: list[str] = []
        """Responses of the players in this episode."""

    def reset(self, seed: int) -> None:
        """Start an episode that depends on the seed only."""
        state = RandomState(seed)
        with state.activate():
            env = _copy(self._pristine)
            try:
                env.reset(num_players=self.num_players, seed=seed)
            except Exception as error:
                raise Error(
                    f"TextArena's {self.env_id} does not start with {self.num_players} players: "
                    f"{_first_line(error)}"
                ) from error
            self._random, self._env, self._core = state, env, _unwrap(env)
            self.seed, self.actions, self.done, self.error = seed, [], False, ""
            self.step_info: dict[str, object] = {}
            self._unread: dict[int, list[textarena.Message]] = {
                p: [] for p in range(self.num_players)
            }
            self._read_messages()

    def step(self, action: str) -> bool:
        """Take a response, and return whether the episode is over; an error of the game ends it."""
        with self._random.activate():
            self._unread[self.player] = []
            try:
                self.done, self.step_info = self._env.step(action)
                self._read_messages()
            except _ERRORS as error:
                self.done, self.error = True, _first_line(error)
        self.actions.append(action)
        return self.done

    def _read_messages(self) -> None:
        """Read the messages for the current player, as TextArena's loop does."""
        self.player, messages = self._core.get_observation()
        self._unread[self.player] += messages

    def observation(self, player: int) -> str:
        """Return the messages to the player since its last response."""
        state = self._core.state
        messages = self._unread[player] + state.observations[player]
        text = write_transcript(messages, player, state.role_mapping)
        reason = state.game_info[player].get("reason")
        if self.done and reason:  # TextArena does not send it to the players
            text += f"{text and chr(10)}[GAME] {reason}"
        return fit_to_space(text)

    @property
    def state(self) -> textarena.State:
        """TextArena's state of the game."""
        return self._core.state

    def reward(self, player: int) -> float:
        """Return the player's reward at the end.

        Some games of TextArena 0.7.4 return the reason of an invalid move instead of its reward;
        it counts as -1, TextArena's default. So does a response on which the game failed.
        """
        if self.error:
            return _INVALID if player == self.player else 0.0
        reward = (self.state.rewards or {}).get(player, 0.0)
        return _INVALID if isinstance(reward, str) or not math.isfinite(reward) else float(reward)

    def __deepcopy__(self, memo: dict[int, object]) -> TextArenaGame:
        twin = object.__new__(TextArenaGame)
        memo[id(self)] = twin
        shared = ("_pristine", "_env", "_core", "options")
        vars(twin).update({k: deepcopy(v, memo) for k, v in vars(self).items() if k not in shared})
        twin._pristine, twin.options = self._pristine, self.options  # these are never played
        if self.seed is not None:
            twin._env = _copy(self._env)
            twin._core = _unwrap(twin._env)
        return twin

    @classmethod
    def replay(
        cls,
        env_id: str,
        num_players: int,
        options: Mapping[str, object],
        seed: int | None,
        actions: Iterable[str],
        replies: Sequence[str],
    ) -> TextArenaGame:
        """Return a game after an episode's responses, with the gamemaster's replies in it."""
        game = TextArenaGame(env_id, num_players, options)
        if seed is not None:
            game.reset(seed)
            if replies:
                game._core.gamemaster.repeat(replies)
            for action in actions:
                game.step(action)
        return game

    def __reduce__(self) -> tuple[object, ...]:
        # TextArena's wrappers cannot be pickled, so the episode is replayed instead. The gamemaster
        # repeats its replies, which may differ if asked again.
        gamemaster = None if self.seed is None else getattr(self._core, "gamemaster", None)
        replies = gamemaster.replies if isinstance(gamemaster, Gamemaster) else []
        episode = self.seed, self.actions, replies
        return TextArenaGame.replay, (self.env_id, self.num_players, self.options, *episode)


def _make(env_id: str, options: Mapping[str, object]) -> textarena.Env:
    arguments = dict(options)
    gamemaster = arguments.pop("gamemaster", None)
    if gamemaster is not None and gamemaster != "rule" and not callable(gamemaster):
        raise TypeError(
            f'gamemaster must be a function from str to str, or "rule", got {gamemaster!r}'
        )
    if gamemaster is not None and not has_gamemaster(env_id):
        raise ValueError(f"TextArena's {env_id} has no gamemaster")
    try:
        if gamemaster is not None:
            return make_with(gamemaster, env_id, arguments)
        return textarena.make(env_id, **arguments)
    except Exception as error:
        reason = _first_line(error)
        if isinstance(error, LookupError) and "nltk" in str(error):
            reason = "it needs data: python -m nltk.downloader words averaged_perceptron_tagger_eng"
        if "OPENROUTER_API_KEY" in str(error) and has_gamemaster(env_id):
            reason += " Or give gamemaster=, a function from str to str."
        raise Error(f"TextArena cannot make {env_id}: {reason}") from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _unwrap(env: textarena.Env) -> textarena.Env:
    while isinstance(env, textarena.Wrapper):
        env = env.env
    return env


def _copy(env: textarena.Env) -> textarena.Env:
    values = vars(_unwrap(env)).values()
    return deepcopy(env, {id(value): value for value in values if isinstance(value, _SHARED)})
