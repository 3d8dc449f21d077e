"""TextArena's messages as observations, and the characters that they may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import textarena  # type: ignore[import-untyped]
from gymnasium.spaces import Text

from ragen_envs.core.text_env import MAX_ACTION, PRINTABLE

# What is neither printable ASCII nor a line break in the sources of TextArena 0.7.4's games.
_SYMBOLS = (
    "±·»Å×ßáãäåçèéëíñóôöúüāăēīŚș‑–—―‘’“”•…ℹ←↑→↓↔∈√≤≥⌨⏳─│┌┐└┘├┤┬┴┼╭╮╯╰╱╲█▔▢▫○●★♔♕♖♗♘♙♚♛♜♝♞♟♠♣♥♦⚕⚠⚪⚫"  # noqa: RUF001
    "✂✅✔❌❓❤➜⬛⬜🃏🌊🌾🎉🎮🎯🎰🎴🏁🏆🏪👤👨💀💎💡💦💬💰💸📄📊📋📖📜🔄🔍🔥🔲🔴🕵🗣🗳😈🟢🟥🟨🟩🤐🥇🥈🥉🧑🧠🪦🪨"
    "\u200d\ufe0f"
)
REPLACEMENT = "\ufffd"
"""Stands for each character that `CHARSET` lacks, which no source of a game holds."""
CHARSET = PRINTABLE | frozenset(_SYMBOLS) | {"\t", REPLACEMENT}
"""The characters of observations."""
MAX_OBSERVATION = 32768
"""Characters in the longest observation; of a longer one the middle is left out."""
_GAP = "\n[...]\n"


def observation_space() -> Text:
    """Return a new space that contains every text of `fit`."""
    return Text(MAX_OBSERVATION, min_length=0, charset="".join(sorted(CHARSET)))


def action_space() -> Text:
    """Return a new space of answers; `step` takes any str."""
    return Text(MAX_ACTION, min_length=0, charset="".join(sorted(PRINTABLE)))


def transcript(
    messages: Iterable[tuple[int, str, object]], player: int, roles: Mapping[int, str]
) -> str:
    """Write messages as TextArena's `LLMObservationWrapper` does, one below the other.

    Args:
        messages: sender, text and type of each.
        player: who reads them. What this player said is left out: the player knows it.
        roles: the names of the senders.
    """
    answer = textarena.ObservationType.PLAYER_ACTION
    return "\n".join(
        f"[{_name(sender, roles)}] {text}"
        for sender, text, kind in messages
        if not (sender == player and kind is answer)
    )


def _name(sender: int, roles: Mapping[int, str]) -> str:
    return "GAME" if sender == textarena.GAME_ID else roles.get(sender, f"Player {sender}")


def fit(text: str) -> str:
    """Return the text as the observation space can hold it."""
    if not CHARSET.issuperset(text):
        text = "".join(c if c in CHARSET else REPLACEMENT for c in text)
    if len(text) > MAX_OBSERVATION:
        half = (MAX_OBSERVATION - len(_GAP)) // 2
        text = text[:half] + _GAP + text[-half:]
    return text
