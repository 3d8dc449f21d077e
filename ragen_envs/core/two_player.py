"""The protocol of two-player games: a player who is scored, and an opponent who replies.

A two-player game extends both `TextEnv` and `TwoPlayerEnv`. The class declares the metrics of the
opponent's replies, so that a harness needs no code per game.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from ragen_envs.core.protocol import Player, ResponseFormat

if TYPE_CHECKING:
    from ragen_envs.core.text_game import Info


class ParsedReply(Protocol):
    """A parsed text of an opponent: whether it has the required format, and is a reply."""

    @property
    def format_is_valid(self) -> bool: ...  # noqa: D102
    @property
    def readable(self) -> bool: ...  # noqa: D102


class OpponentSeat(Player, Protocol):
    """The opponent as a player, while the game waits for its reply.

    Its `text` is the complete prompt of the opponent, which needs no memory.
    """

    @property
    def response_format(self) -> ResponseFormat: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    def read(self, text: str, /) -> ParsedReply:
        """Parse an opponent's text. Never raises on a str."""
        ...


class ReplyCount(NamedTuple):
    """A metric of an episode: the number of the opponent's replies of some kind.

    Attributes:
        name: Key in `info`, where the value is a float, and in a harness's records.
        about: Description of the replies that continues "5 replies".
        part_of: Name of the count that includes this one; None for all replies. The parts of one
            count are disjoint.
        share: Name of this count as a fraction of `part_of`; None if that is not reported.
    """

    name: str
    about: str
    part_of: str | None = None
    share: str | None = None


class ReplyReport(NamedTuple):
    """A recorded reply in words: pairs of a label and a text, and the mistakes of the reply."""

    figures: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]


class TwoPlayerEnv(ABC):
    """The members of a two-player game, in addition to those of `TextEnv`.

    The constructor takes `opponent_format`, the format of the opponent's texts; None for the
    player's format. `step` raises an error, because a turn needs the opponent's text.

    Attributes:
        reply_counts: Metrics of the opponent's replies in an episode.
    """

    __slots__ = ()
    reply_counts: ClassVar[tuple[ReplyCount, ...]]

    @abstractmethod
    def opponent_reads(self, answer: str) -> str | None:
        """Return the opponent's prompt for a response; None if it does not reply to this one.

        The episode is unchanged. Errors are those of `TextEnv.step`.
        """

    @property
    @abstractmethod
    def seat(self) -> OpponentSeat:
        """The opponent's seat at the latest `opponent_reads` of this turn; ValueError without."""

    @abstractmethod
    def step_with(self, answer: str, reply: str | None) -> tuple[str, float, bool, bool, Info]:
        """Run a turn as `step` does in other games, with the opponent's text, if it replies.

        A reply that is neither a str nor None is a TypeError. One that is missing, or is there
        although the opponent does not reply, is a ValueError. The episode is then unchanged.
        """

    @property
    @abstractmethod
    def reply_record(self) -> Mapping[str, str | bool | None]:
        """The record of the latest reply, with the key `readable`; ValueError before the first."""

    @staticmethod
    @abstractmethod
    def report_reply(record: Mapping[str, object]) -> ReplyReport:
        """Describe a record with the keys of `reply_record`; other keys are ignored."""
