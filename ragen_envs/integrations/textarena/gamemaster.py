"""Replaces the gamemaster of a TextArena game by the caller's, and reads the games' sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, Literal, TypeAlias

import textarena  # type: ignore[import-untyped]
from gymnasium.error import Error
from textarena.envs.registration import ENV_REGISTRY  # type: ignore[import-untyped]

from ragen_envs.integrations.textarena.rule import known_words, rule_gamemaster

Ask: TypeAlias = Callable[[str], str]
"""Takes TextArena's request, and returns the gamemaster's reply."""


class Gamemaster:
    """Asks for each reply once, and keeps the replies of the episode.

    Args:
        ask: Gives the replies. Copies share it.

    Attributes:
        replies: Replies of the episode.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.replies: list[str] = []
        self._known: list[str] = []

    def repeat(self, replies: Sequence[str]) -> None:
        """Give these replies first, as in a replay of an episode."""
        self._known = list(replies)

    def __call__(self, text: str) -> str:
        """Return the reply to a request.

        Raises:
            gymnasium.error.Error: The gamemaster gave no reply.
        """
        self.replies.append(self._known.pop(0) if self._known else self._reply(text))
        return self.replies[-1]

    def _reply(self, text: str) -> str:
        try:
            reply: object = self._ask(text)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise Error(f"the gamemaster failed: {type(error).__name__}: {reason}") from error
        if not isinstance(reply, str):
            raise Error(f"the gamemaster must return a str, got {type(reply).__name__}")
        return reply

    def __deepcopy__(self, memo: dict[int, Any]) -> Gamemaster:
        twin = Gamemaster(self._ask)
        twin.replies, twin._known = self.replies.copy(), self._known.copy()
        return twin


@cache
def source_of(entry_point: str) -> str:
    """Return the source of a game of TextArena, "" for a third-party game.

    Sources are read, since some games need data or keys to be imported.

    Args:
        entry_point: Entry point in TextArena's registry, as "textarena.envs.Nim.env:NimEnv".
    """
    package, *rest = entry_point.partition(":")[0].split(".")
    file = Path(*textarena.__path__).joinpath(*rest).with_suffix(".py")
    return file.read_text(encoding="utf-8") if package == "textarena" and file.is_file() else ""


def has_gamemaster(env_id: str) -> bool:
    """Return whether a model is the gamemaster of TextArena's game.

    Args:
        env_id: Id in TextArena's registry.
    """
    source = source_of(str(ENV_REGISTRY[env_id].entry_point))
    return "self.gamemaster = ta.agents.OpenRouterAgent(" in source


def check_gamemaster(env_id: str, gamemaster: object) -> None:
    """Check that a game can use a gamemaster.

    Raises:
        TypeError: The gamemaster is not a function or "rule".
        ValueError: The game has no gamemaster.
    """
    if gamemaster != "rule" and not callable(gamemaster):
        raise TypeError(
            f'gamemaster must be a function from str to str, or "rule", got {gamemaster!r}'
        )
    if not has_gamemaster(env_id):
        raise ValueError(f"TextArena's {env_id} has no gamemaster")


def make_with(gamemaster: Ask | Literal["rule"], env_id: str, options: dict[str, Any]) -> Any:
    """Return a game as `textarena.make` does, with another gamemaster.

    Args:
        gamemaster: Gives the replies; "rule" is `rule_gamemaster`, with the words that it knows.
        env_id: Id in TextArena's registry of a game with a gamemaster.
        options: Arguments of the game's constructor.

    Raises:
        ValueError: The game has no words for the rule.
    """
    spec = ENV_REGISTRY[env_id]
    ask = rule_gamemaster if gamemaster == "rule" else gamemaster
    module, _, name = spec.entry_point.partition(":")
    game = getattr(import_module(module), name)
    env = _construct(game, {**spec.kwargs, **options}, Gamemaster(ask))
    if gamemaster == "rule":
        if not hasattr(env, "word_list"):
            raise ValueError(f"the rule needs words, but {env_id} has none")
        env.word_list = known_words(env.word_list)
    env.env_id, env.entry_point = env_id, spec.entry_point
    for wrapper in spec.default_wrappers or ():
        env = wrapper(env)
    return env


def _construct(game: Any, options: dict[str, Any], gamemaster: Gamemaster) -> Any:
    """Run TextArena's constructor with the gamemaster instead of its client of a service.

    The constructor makes `ta.agents.OpenRouterAgent`, which requires a key. So a copy of the
    function is run with another `ta`; the module's own is unchanged for other threads.
    """
    agents = SimpleNamespace(OpenRouterAgent=lambda **_: gamemaster)
    original = game.__init__
    names = {**original.__globals__, "ta": SimpleNamespace(agents=agents)}
    twin = FunctionType(
        original.__code__, names, "__init__", original.__defaults__, original.__closure__
    )
    env = game.__new__(game)
    twin(env, **options)
    return env
