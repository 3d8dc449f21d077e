"""Does the environment take whatever a model may say?"""

from __future__ import annotations

from random import Random

from ragen_envs.testing.failure import EnvironmentRaised, check, fail
from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.player import Player
from ragen_envs.testing.subject import Subject


@check
def check_hostile_text(subject: Subject) -> None:
    """No str makes `step` raise or leave its form, and the episode can go on afterwards."""
    seed = subject.seeds[0]
    with Player(subject.make_env) as player:
        for name, text in HOSTILE.items():
            player.reset(seed)
            survive(player, name, text)
            if not player.ended:
                player.step(player.choose(subject, Random(0)))
            if not player.ended:
                survive(player, name, text)


def survive(player: Player, name: str, text: str) -> None:
    """Fail if the environment raises at an answer."""
    try:
        player.step(text)
    except EnvironmentRaised as raised:
        fail(
            f"the answer {name!r}: {raised}",
            "a table looked up by the raw answer, int(answer), answer.split()[0], .encode(), or "
            "the answer put into a format string or a regular expression.",
            "look answers up with .get, treat what is unknown as an invalid action that costs a "
            "turn, and never raise for a str.",
        )
