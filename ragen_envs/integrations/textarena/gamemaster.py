"""Replaces the gamemaster of a TextArena game by the caller's or by this suite's rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, SimpleNamespace

import textarena  # type: ignore[import-untyped]
from gymnasium.error import Error
from textarena.envs.registration import ENV_REGISTRY  # type: ignore[import-untyped]

from ragen_envs.games.twenty_questions.forms import Answer, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.questions import question_of
from ragen_envs.games.twenty_questions.understanding import understand

UNKNOWN = "I don't know"
"""TextArena's third answer, for Sometimes and for questions that the rule does not understand."""
_OF_ANSWER: dict[Answer | None, str] = {
    "Yes": "Yes",
    "No": "No",
    "Sometimes": UNKNOWN,
    None: UNKNOWN,
}
# The word is before the player's text, and the last match of a question is the one to answer.
_REQUEST = re.compile(
    r".*?target word: (?P<word>[^\n]+)\n.*\n\nQ: (?P<question>.*)"
    r"\nOptions: [^\n]*\n\nPlease respond[^\n]*",
    re.DOTALL,
)
_BRACKETS = str.maketrans("[]", "  ")


class Gamemaster:
    """Asks for each reply once, and keeps the episode's `replies`; copies share `ask`."""

    def __init__(self, ask: Callable[[str], object]) -> None:
        self._ask = ask
        self.replies: list[str] = []
        self._known: list[str] = []

    def repeat(self, replies: Sequence[str]) -> None:
        """Give these replies first, as in a replay of an episode."""
        self._known = list(replies)

    def __call__(self, text: str) -> str:
        """Return the reply to a request; raises `gymnasium.error.Error` if there is none."""
        if self._known:
            self.replies.append(self._known.pop(0))
            return self.replies[-1]
        try:
            reply = self._ask(text)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise Error(f"the gamemaster failed: {type(error).__name__}: {reason}") from error
        if not isinstance(reply, str):
            raise Error(f"the gamemaster must return a str, got {type(reply).__name__}")
        self.replies.append(reply)
        return reply

    def __deepcopy__(self, memo: dict[int, object]) -> Gamemaster:
        twin = Gamemaster(self._ask)
        twin.replies, twin._known = self.replies.copy(), self._known.copy()
        return twin


@cache
def source_of(entry_point: str) -> str:
    """Return a game's source, read without an import, by entry point; "" if third-party."""
    package, *rest = entry_point.partition(":")[0].split(".")
    file = Path(*textarena.__path__).joinpath(*rest).with_suffix(".py")
    return file.read_text(encoding="utf-8") if package == "textarena" and file.is_file() else ""


def has_gamemaster(env_id: str) -> bool:
    """Return whether a model is the gamemaster of TextArena's game."""
    source = source_of(str(ENV_REGISTRY[env_id].entry_point))
    return "self.gamemaster = ta.agents.OpenRouterAgent(" in source


def make_with(gamemaster: object, env_id: str, options: Mapping[str, object]) -> textarena.Env:
    """Return a game as `textarena.make` does, with another gamemaster.

    "rule" is `rule_gamemaster` with the words that it knows; a game without words is a ValueError.
    """
    spec = ENV_REGISTRY[env_id]
    ask = rule_gamemaster if gamemaster == "rule" else gamemaster
    assert callable(ask)
    module, _, name = spec.entry_point.partition(":")
    game = getattr(import_module(module), name)
    # The constructor makes `ta.agents.OpenRouterAgent`, which requires a key. So a copy
    # of the function is run with another `ta`; the module's own is unchanged for other threads.
    agents = SimpleNamespace(OpenRouterAgent=lambda **_: Gamemaster(ask))
    original = game.__init__
    names = {**original.__globals__, "ta": SimpleNamespace(agents=agents)}
    env = game.__new__(game)
    FunctionType(original.__code__, names, "__init__", original.__defaults__, original.__closure__)(
        env, **{**spec.kwargs, **options}
    )
    if gamemaster == "rule":
        if not hasattr(env, "word_list"):
            raise ValueError(f"the rule needs words, but {env_id} has none")
        env.word_list = known_words(env.word_list)
    env.env_id, env.entry_point = env_id, spec.entry_point
    for wrapper in spec.default_wrappers or ():
        env = wrapper(env)
    return env


def rule_gamemaster(text: str) -> str:
    """Return the answer of `ragen/TwentyQuestions-v0` in TextArena's words.

    Args:
        text: TextArena's request to the gamemaster of its Twenty Questions.

    Returns:
        "Yes", "No" or "I don't know".

    Raises:
        ValueError: It is not such a request, or the word is unknown.
    """
    request = _REQUEST.fullmatch(text)
    if request is None:
        raise ValueError("this is not a request for the gamemaster of TextArena's Twenty Questions")
    knowledge = load()
    concept = knowledge.concepts.get(request["word"])
    if concept is None:
        raise ValueError(
            f"the rule does not know the word {request['word']!r}; "
            'gamemaster="rule" draws from the words that it knows'
        )
    form = understand(question_of(request["question"].translate(_BRACKETS)), knowledge)
    return _OF_ANSWER[None if form is None else answer(form, concept, knowledge)]


def known_words(words: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return TextArena's words that the rule can answer for, by theme, without empty themes.

    The words are names of concepts. Aliases are left out, since "coach" is a person in TextArena
    and a bus here.
    """
    concepts = load().concepts
    known = {theme: [word for word in of if word in concepts] for theme, of in words.items()}
    if not any(known.values()):
        raise ValueError("the rule knows none of these words")
    return {theme: of for theme, of in known.items() if of}
