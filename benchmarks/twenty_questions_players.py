"""Scripted players of Twenty Questions: the table of its page.

    python benchmarks/twenty_questions_players.py

Each player takes an environment in its turn and returns an answer in form, as the players of
`ragen_envs.core.policies` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import format_answer
from ragen_envs.games.twenty_questions.env import VARIANTS, Asked, TwentyQuestionsEnv
from ragen_envs.games.twenty_questions.forms import Answer, Form, Guess, IsKind, answer, say
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge

EPISODES = 8
"""On each word."""
Player: TypeAlias = Callable[[TwentyQuestionsEnv], str]


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
    return {
        question.form.kind: question.reply
        for question in asked
        if isinstance(question.form, IsKind)
    }


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
    guessed = {question.form.name for question in asked if isinstance(question.form, Guess)}
    replies = [
        (question.form, question.reply)
        for question in asked
        if isinstance(question.form, IsKind) and question.reply is not None
    ]

    def disagreements(name: str) -> int:
        concept = knowledge.concepts[name]
        return sum(answer(form, concept, knowledge) != reply for form, reply in replies)

    return min((name for name in knowledge.concepts if name not in guessed), key=disagreements)


class Results(NamedTuple):
    """How a player does on the test words of a variant.

    Attributes:
        success: the share of the words that it finds in its first episode on them.
        mean_at_8: the mean success of eight episodes on each word.
        turns: the mean number of turns of all episodes, including those that fail.
    """

    success: float
    mean_at_8: float
    turns: float


def players() -> dict[str, Player]:
    """Return the players by name; the random one starts from the same seed each time."""
    stream = RandomStream("twenty questions floor")
    return {
        "random": lambda env: random_answer(env, stream),
        "category ladder": category_ladder,
        "oracle": oracle_answer,
    }


def results(player: Player, variant: str) -> Results:
    """Play eight episodes on every test word of a variant.

    Args:
        player: returns the answer of a turn.
        variant: its name.
    """
    env = TwentyQuestionsEnv(variant, "test", "plain")
    episodes = [
        [_play(env, player, seed) for _ in range(EPISODES)]
        for seed in range(env.held_out_size(variant))
    ]
    return Results(
        success=fmean(group[0][0] for group in episodes),
        mean_at_8=fmean(success for group in episodes for success, _ in group),
        turns=fmean(turns for group in episodes for _, turns in group),
    )


def _play(env: TwentyQuestionsEnv, player: Player, seed: int) -> tuple[bool, int]:
    """Return whether the player finds the word of a seed, and in how many turns."""
    _, info = env.reset(seed=seed)
    while env.legal_actions:
        *_, info = env.step(player(env))
    return info["success"], info["turn"]


def main() -> None:
    """Print each player's results on the test words of both variants."""
    print("| player | success | mean@8 | turns | new categories: mean@8 | turns |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in players():
        ordinary, new = (results(players()[name], variant) for variant in VARIANTS)
        print(
            f"| {name} | {ordinary.success:.2f} | {ordinary.mean_at_8:.2f} | {ordinary.turns:.1f} "
            f"| {new.mean_at_8:.2f} | {new.turns:.1f} |"
        )


if __name__ == "__main__":
    main()
