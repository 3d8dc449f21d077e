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
    """A parsed reply of an opponent."""

    @property
    def format_is_valid(self) -> bool:
        """Whether the text has the required format."""
        ...

    @property
    def readable(self) -> bool:
        """Whether the text is a reply."""
        ...


class OpponentSeat(Player, Protocol):
    """The opponent as a player, while the game waits for its reply."""

    @property
    def response_format(self) -> ResponseFormat:
        """Format of a reply."""
        ...

    @property
    def text(self) -> str:
        """Complete prompt of the opponent, which needs no memory."""
        ...

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
        """Return the opponent's prompt for a response of the player; the episode is unchanged.

        Returns:
            The prompt, or None if the opponent does not reply to this response.

        Raises:
            ResetNeeded: No episode is running.
            TypeError: The response is not a str.
        """

    @property
    @abstractmethod
    def seat(self) -> OpponentSeat:
        """The opponent's seat at the latest `opponent_reads` of this turn.

        Raises:
            ValueError: The opponent does not reply in this turn.
        """

    @abstractmethod
    def step_with(self, answer: str, reply: str | None) -> tuple[str, float, bool, bool, Info]:
        """Run a turn as `step` does in other games, with the opponent's text in it.

        Args:
            answer: Response of the player.
            reply: Text of the opponent, in its format; None if it does not reply.

        Raises:
            ResetNeeded: No episode is running.
            TypeError: The response is not a str, or the reply is neither a str nor None.
            ValueError: The reply is missing, or there is one although the opponent does not reply;
                the episode is unchanged.
        """

    @property
    @abstractmethod
    def reply_record(self) -> Mapping[str, str | bool | None]:
        """The record of the latest reply, with the key `readable`.

        Raises:
            ValueError: The opponent has not replied yet in this episode.
        """

    @staticmethod
    @abstractmethod
    def report_reply(record: Mapping[str, object]) -> ReplyReport:
        """Describe a record with the keys of `reply_record`; other keys are ignored."""
