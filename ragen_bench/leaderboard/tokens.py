"""Bounds of token counts; whether they are the model's, only the model could say."""

from __future__ import annotations

from ragen_bench.leaderboard.limits import BYTES_A_TOKEN, PROMPT_TOKENS
from ragen_bench.runs.schema import EpisodeRecord

_COUNTS = ("prompt_tokens", "completion_tokens")


class TokenCheck:
    """Looks at the counts of one entry's turns.

    A model counts tokens in every turn or, as functions do, in none.

    Args:
        max_tokens: sampled in one answer at most.
    """

    def __init__(self, max_tokens: int) -> None:
        self._most = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": max_tokens}
        self._counted = dict.fromkeys(_COUNTS, "")
        self._uncounted = dict.fromkeys(_COUNTS, "")

    def problem(self, record: EpisodeRecord, name: str) -> str | None:
        """Return why an episode's counts cannot be, or None.

        Args:
            record: an episode that is equal to its replay.
            name: the episode's, for later messages.
        """
        for number, turn in enumerate(record.turns):
            answered = _bytes(turn.answer) + _bytes(turn.reasoning)
            # A prompt is never empty. An empty answer may count or not.
            for count, tokens, text in (
                ("prompt_tokens", turn.prompt_tokens, 1),
                ("completion_tokens", turn.completion_tokens, answered),
            ):
                path = f"turns[{number}].{count}"
                if tokens > self._most[count]:
                    return f"{path}: {tokens} is more than the {self._most[count]} there can be"
                if tokens and text > tokens * BYTES_A_TOKEN:
                    return f"{path}: {tokens} is too few for {text} bytes of answer"
                if tokens or text:
                    seen = self._counted if tokens else self._uncounted
                    seen[count] = seen[count] or f"{name} {path}"
        return None

    def mixed(self) -> str | None:
        """Return where counts stand beside zeros, or None."""
        for count in _COUNTS:
            if self._counted[count] and self._uncounted[count]:
                return f"{self._uncounted[count]} is 0, though {self._counted[count]} is not"
        return None


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
