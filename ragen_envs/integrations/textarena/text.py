"""Turns TextArena's messages into observations with a fixed set of characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import textarena  # type: ignore[import-untyped]
from gymnasium.spaces import Text

from ragen_envs.core.text_env import MAX_ACTION, PRINTABLE

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


def observation_space() -> Text:
    """Return a new space that contains every text of `fit_to_space`."""
    return Text(MAX_OBSERVATION, min_length=0, charset="".join(sorted(CHARSET)))


def action_space() -> Text:
    """Return a new space of responses; `step` accepts any str."""
    return Text(MAX_ACTION, min_length=0, charset="".join(sorted(PRINTABLE)))


def write_transcript(
    messages: Iterable[tuple[int, str, object]], player: int, roles: Mapping[int, str]
) -> str:
    """Write messages as TextArena's `LLMObservationWrapper` does, one below the other.

    Args:
        messages: Sender, text and type of each message.
        player: The reader, whose own messages are left out.
        roles: Names of the senders.
    """
    answer = textarena.ObservationType.PLAYER_ACTION
    return "\n".join(
        f"[{_name(sender, roles)}] {text}"
        for sender, text, kind in messages
        if not (sender == player and kind is answer)
    )


def _name(sender: int, roles: Mapping[int, str]) -> str:
    return "GAME" if sender == textarena.GAME_ID else roles.get(sender, f"Player {sender}")


def fit_to_space(text: str) -> str:
    """Return the text with only the characters and length of the observation space."""
    if not CHARSET.issuperset(text):
        text = "".join(c if c in CHARSET else REPLACEMENT for c in text)
    if len(text) > MAX_OBSERVATION:
        half = (MAX_OBSERVATION - len(_GAP)) // 2
        text = text[:half] + _GAP + text[-half:]
    return text
