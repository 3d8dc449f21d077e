"""Hypothesis strategies for text environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragen_envs.core import extras

try:
    from hypothesis import strategies as st
except ImportError:
    raise extras.missing("ragen_envs.testing.strategies", "hypothesis", "testing") from None

from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.player import Player
from ragen_envs.testing.subject import Subject

_PIECES = (
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<",
    ">",
    "||",
    "\n",
    "\0",
    "\ud800",
    "\u202e",
    "\u0301",
    "{0}",
    "%s",
    "up",
    "\u00b2",
    "-",
    "9",
    " ",
)


def seeds(subject: Subject | None = None) -> st.SearchStrategy[int]:
    """Return a strategy of seeds: the subject's, or any from 0 to 2**31 - 1."""
    return st.sampled_from(list(subject.seeds)) if subject else st.integers(0, 2**31 - 1)


@st.composite
def instances(draw: st.DrawFn, subject: Subject) -> Player:
    """Return a strategy of players of new environments, each just reset with a drawn seed.

    `player.env` is the environment, `player.steps[0]` what the reset gave. The caller closes it.
    """
    player = Player(subject.make_env)
    player.reset(draw(seeds(subject)))
    return player


def well_formed_answers(
    actions: Sequence[str], form: str = "{}", separator: str = " || ", max_actions: int = 1
) -> st.SearchStrategy[str]:
    """Return a strategy of answers in form.

    Args:
        actions: the names of the actions.
        form: what stands around them, such as "<answer>{}</answer>".
        separator: what stands between them.
        max_actions: the most of them in one answer.
    """
    bodies = st.lists(st.sampled_from(list(actions)), min_size=1, max_size=max_actions)
    return bodies.map(separator.join).map(lambda body: form.replace("{}", body))


def hostile_text(max_size: int = 200_000) -> st.SearchStrategy[str]:
    """Return a strategy of texts that authors do not think of.

    They are the kit's own (`HOSTILE`) up to a length, any characters, lone surrogates included,
    and jumbles of tags, separators and format strings.
    """
    known = [text for text in HOSTILE.values() if len(text) <= max_size]
    anything = st.text(st.characters(), max_size=min(100, max_size))
    jumble = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
    return st.one_of(st.sampled_from(known), anything, jumble.map(lambda text: text[:max_size]))


def action_sequences(
    actions: int | Sequence[str], max_size: int = 20
) -> st.SearchStrategy[list[Any]]:
    """Return a strategy of what is done in an episode, turn by turn.

    Args:
        actions: the answers to choose from, or how many there are, for indices from 0.
        max_size: the most turns.
    """
    action = st.integers(0, actions - 1) if isinstance(actions, int) else st.sampled_from(actions)
    return st.lists(action, max_size=max_size)
