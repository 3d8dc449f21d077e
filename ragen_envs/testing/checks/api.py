"""Checks of the spaces, the signatures of reset and step, and hostile text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from random import Random

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from ragen_envs.testing.checks import check
from ragen_envs.testing.episodes import PlayedStep
from ragen_envs.testing.failure import (
    EnvironmentRaised,
    described,
    fail,
    failure,
    quote,
    shorten,
)
from ragen_envs.testing.global_random import borrow, make_state
from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.player import Player, finish, oracles, record
from ragen_envs.testing.subject import Subject, make, sample_action

_ESCAPES = re.compile(r"\x1b\[\d*m")


@check
def check_reset_and_step(subject: Subject) -> None:
    """Make, reset, play to the end and close, with values of the right kinds throughout.

    The oracle plays too, if there is one.
    """
    for seed in subject.seeds:
        for choose in (None, *oracles(subject)):
            record(subject, seed, choose=choose)


@check
def check_observation_space(subject: Subject) -> None:
    """Every observation lies in `observation_space`, after hostile answers too."""
    with Player(subject.make_env) as player:
        for seed in subject.seeds:
            player.reset(seed)
            finish(subject, player)
            for step in player.steps:
                require_in_space(player, step, "")
        for name, text in HOSTILE.items():
            player.reset(subject.seeds[0])
            try:
                require_in_space(player, player.step(text), f", after the answer {name!r}")
            except EnvironmentRaised:
                continue  # check_hostile_text reports it


def require_in_space(player: Player, step: PlayedStep, after: str) -> None:
    """Fail unless the observation of one of the player's steps lies in the space."""
    space, text = player.env.observation_space, step.observation
    if text in space:
        return
    turn = next(i for i, known in enumerate(player.steps) if known is step)
    seen = f"seed {player.seed}, turn {turn}{after}: the observation {quote(text)} "
    if not isinstance(space, gymnasium.spaces.Text):
        seen += f"is not in {shorten(repr(space))}"
    elif not space.min_length <= len(text) <= space.max_length:
        seen += f"has {len(text):,} characters, not {space.min_length} to {space.max_length:,}"
    else:
        seen += f"has {sorted(set(text) - set(space.characters))[:8]}, not in the charset"
    fail(
        seen,
        "the space was declared for the board alone, or feedback echoes the player's answer.",
        "Text(max_length, min_length=0, charset=...) with every character and length that any "
        "observation can have; do not echo raw answers.",
    )


@check
def check_action_space(subject: Subject) -> None:
    """Samples of `action_space` are str, and well-formed answers lie in it."""
    with Player(subject.make_env) as player:
        for seed in subject.seeds:
            player.reset(seed)
            rng = Random(f"samples {seed}")
            well_formed = player.choose(subject, rng)
            sample = sample_action(player.env, rng)
            seen = f"seed {seed}: "
            if not isinstance(sample, str):
                seen += f"action_space samples a {type(sample).__name__}, not a str"
            elif well_formed not in player.env.action_space:
                seen += f"action_space does not contain the answer {quote(well_formed)}"
            else:
                continue
            fail(
                seen,
                "the space is that of the game's moves, or its charset is the default of letters "
                "and digits.",
                "Text(max_length, min_length=0, charset=string.printable), or what answers need.",
            )


@check
def check_close_twice(subject: Subject) -> None:
    """`close` may be called twice, and before any reset."""
    for played in (True, False):
        player = Player(subject.make_env)
        if played:
            player.reset(subject.seeds[0])
        player.close()
        try:
            player.close()
        except EnvironmentRaised as raised:
            fail(
                f"the second {raised}",
                "close releases something and does not note that it is gone.",
                "set the attribute to None after releasing it, and return early when it is None.",
            )


@check
def check_gymnasium_checker(subject: Subject) -> None:
    """Gymnasium's own `check_env` passes, and has nothing to warn of."""
    with borrow(make_state(0)), warnings.catch_warnings():
        # Gymnasium warns of an id that is out of date, which says nothing of the environment.
        env = make(subject.make_env)
        while isinstance(env, gymnasium.Wrapper) and type(env).__module__.startswith("gymnasium."):
            env = env.env
        warnings.simplefilter("error")
        # An adapter that is a wrapper is the environment under test.
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version")
        env.step = _with_plain_flags(env.step)  # type: ignore[method-assign, assignment]
        try:
            check_env(env, skip_render_check=True, skip_close_check=True)
        except (Exception, SystemExit) as error:
            text = _ESCAPES.sub("", str(error))
            raise failure(
                f"gymnasium.utils.env_checker.check_env: {text or described(error)}",
                "usually `reset` without `super().reset(seed=seed)`, or values of another type "
                "than the spaces declare.",
                "follow the message; `check_env(env)` in a console shows the whole of it.",
            ) from error
        finally:
            env.close()


def _with_plain_flags(step: Callable[..., object]) -> Callable[[object], object]:
    """Return a step whose flags are Python's bools: the checker asks for `truncated is False`."""

    def step_with_bools(action: object) -> object:
        result = step(action)
        if not isinstance(result, tuple):
            return result
        return tuple(bool(value) if isinstance(value, np.bool_) else value for value in result)

    return step_with_bools


@check
def check_hostile_text(subject: Subject) -> None:
    """No str makes `step` raise or leave its form, and the episode can go on afterwards."""
    with Player(subject.make_env) as player:
        for seed in subject.seeds:
            player.reset(seed)
            sample = sample_action(player.env, Random(f"samples {seed}"))
            if isinstance(sample, str):  # else check_action_space fails
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
