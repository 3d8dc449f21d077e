"""Players below the solver: what the game asks for beyond them, and how any player fares.

Each takes an environment in its turn, and returns an answer in form, as `ragen_envs.policies` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from ragen_envs.protocol import format_answer
from ragen_envs.twenty_questions.answerer import Answer, answer
from ragen_envs.twenty_questions.env import Asked, TwentyQuestionsEnv
from ragen_envs.twenty_questions.forms import Form, Guess, IsKind, say
from ragen_envs.twenty_questions.loader import load
from ragen_envs.twenty_questions.schema import Knowledge


def category_ladder(env: TwentyQuestionsEnv) -> str:
    """Ask the kinds from the top down, then guess the words of the last one in their order.

    It goes down from each kind that is answered Yes to the kinds below it, asks them in the order
    of the knowledge, and counts Sometimes, and an answerer that cannot tell, as No. Features, sizes
    and letters it never asks for. Where no word agrees with all replies, as an answerer may err, it
    guesses the words with the fewest disagreements.
    """
    knowledge = load()
    kind = _next_kind(_replies(env.asked), knowledge)
    form: Form = Guess(_next_word(env.asked, knowledge)) if kind is None else IsKind(kind)
    return format_answer((say(form, knowledge),), env.response_format)


def _replies(asked: Iterable[Asked]) -> dict[str, Answer | None]:
    return {one.form.kind: one.reply for one in asked if isinstance(one.form, IsKind)}


def _next_kind(replies: Mapping[str, Answer | None], knowledge: Knowledge) -> str | None:
    """Return the next kind to ask for, None at the foot of the ladder."""
    above: str | None = None
    while True:
        rungs = [
            key
            for key, kind in knowledge.kinds.items()
            if (above in kind.parents if above else not kind.parents)
        ]
        down = next((key for key in rungs if replies.get(key) == "Yes"), None)
        if down is None:
            return next((key for key in rungs if key not in replies), None)
        above = down


def _next_word(asked: Sequence[Asked], knowledge: Knowledge) -> str:
    """Return the first word, not guessed yet, that agrees best with the replies on kinds."""
    guessed = {one.form.name for one in asked if isinstance(one.form, Guess)}
    told = [
        (one.form, one.reply)
        for one in asked
        if isinstance(one.form, IsKind) and one.reply is not None
    ]

    def disagreements(name: str) -> int:
        concept = knowledge.concepts[name]
        return sum(answer(form, concept, knowledge) != reply for form, reply in told)

    return min((name for name in knowledge.concepts if name not in guessed), key=disagreements)


class Fared(NamedTuple):
    """How a player fared.

    Attributes:
        success: the share of the words that it found in its first episode on them.
        mean_at_8: the mean success of eight episodes on each word.
        turns: the mean number of turns of all episodes, those that found nothing among them.
    """

    success: float
    mean_at_8: float
    turns: float


def fared(player: Callable[[TwentyQuestionsEnv], str], name: str = "TwentyQuestions-v0") -> Fared:
    """Play eight episodes on every test word of a variant.

    Args:
        player: returns the answer of a turn.
        name: the variant.
    """
    env = TwentyQuestionsEnv(name, "test", "plain")
    episodes = [
        [_played(env, player, seed) for _ in range(8)] for seed in range(env.held_out_size(name))
    ]
    return Fared(
        success=fmean(group[0][0] for group in episodes),
        mean_at_8=fmean(found for group in episodes for found, _ in group),
        turns=fmean(turns for group in episodes for _, turns in group),
    )


def _played(
    env: TwentyQuestionsEnv, player: Callable[[TwentyQuestionsEnv], str], seed: int
) -> tuple[bool, int]:
    """Return whether the word was found, and in how many turns."""
    _, info = env.reset(seed=seed)
    while env.legal_actions:
        *_, info = env.step(player(env))
    return info["success"], info["turn"]
