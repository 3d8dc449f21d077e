"""The check that an environment takes any text that a model may answer with."""

from __future__ import annotations

from random import Random

from ragen_envs.testing.checking import check
from ragen_envs.testing.failure import EnvironmentRaised, fail
from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.player import Player
from ragen_envs.testing.subject import Subject, sampled


@check
def check_hostile_text(subject: Subject) -> None:
    """No str makes `step` raise or leave its form, and the episode can go on afterwards."""
    with Player(subject.make_env) as player:
        for seed in subject.seeds:
            player.reset(seed)
            sample = sampled(player.env, Random(f"samples {seed}"))
            if isinstance(sample, str):  # else check_action_space tells
                survive(player, "a sample of action_space", sample)
        for name, text in HOSTILE.items():
            player.reset(subject.seeds[0])
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
            "look answers up with .get, catch the ValueError of int() (isdigit() holds of '\u00b2' "
            "too), treat what is unknown as an invalid action that costs a turn, and never raise "
            "for a str.",
        )
