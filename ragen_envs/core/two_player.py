"""The protocol of games for two: a player who is scored, and an opponent whom the game asks.

A game for two is a `TextEnv` that is a `TwoPlayerEnv`, too. A harness reads from the class what the
game counts of the opponent's replies, so that it knows no such game by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

from ragen_envs.core.player import Player
from ragen_envs.core.protocol import ResponseFormat


class Reading(Protocol):
    """How an opponent's text was read."""

    @property
    def format_is_valid(self) -> bool:
        """Whether it has the demanded form."""
        ...

    @property
    def readable(self) -> bool:
        """Whether it is a reply."""
        ...


class OpponentSeat(Player, Protocol):
    """The opponent's place in a game while the game asks it for a reply."""

    @property
    def response_format(self) -> ResponseFormat:
        """The form of a reply, which is written out."""
        ...

    @property
    def text(self) -> str:
        """All that the opponent reads, so that it needs no memory."""
        ...

    def read(self, text: str, /) -> Reading:
        """Return how an opponent's text would be read. Never raises on a str."""
        ...


class ReplyCount(NamedTuple):
    """A figure of an episode: how many of the opponent's replies are of some kind.

    Attributes:
        name: in `info`, where it is a float, and in a harness's records.
        about: what the replies are, in words that continue "5 replies".
        part_of: the count that includes it, None if that is all replies. The parts of one count
            exclude one another.
        share: the name of its share of `part_of`, None if that is not reported.
    """

    name: str
    about: str
    part_of: str | None = None
    share: str | None = None


class ReplyReport(NamedTuple):
    """A recorded reply in words.

    Attributes:
        figures: pairs of a label and a text.
        remarks: what is wrong with the reply.
    """

    figures: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]


class TwoPlayerEnv(ABC):
    """What a harness uses of a game for two, beside what every `TextEnv` has.

    The constructor takes `opponent_format`, the response format of the opponent's texts, which is
    the player's where it is None. `step` is refused, as a turn needs the opponent's text.

    Attributes:
        reply_counts: what is counted of the opponent's replies in an episode.
    """

    __slots__ = ()
    reply_counts: ClassVar[tuple[ReplyCount, ...]]

    @abstractmethod
    def opponent_reads(self, answer: str) -> str | None:
        """Return what the opponent reads if the player answers so. The episode stays where it is.

        Returns:
            None if the opponent is not asked.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """

    @property
    @abstractmethod
    def seat(self) -> OpponentSeat:
        """The opponent's seat at the latest `opponent_reads` of this turn.

        Raises:
            ValueError: if the opponent is not asked.
        """

    @abstractmethod
    def step_with(
        self, answer: str, reply: str | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a turn as `step` does in other games, with the opponent's text in it.

        Args:
            answer: the player's.
            reply: the opponent's text, in its response format; None where it is not asked.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str, or the reply neither a str nor None.
            ValueError: if the reply is missing, or there is one though the opponent is not asked;
                nothing has happened then.
        """

    @property
    @abstractmethod
    def reply_record(self) -> Mapping[str, str | bool | None]:
        """What the game records of the latest reply; `readable` is among it.

        Raises:
            ValueError: if the opponent has not replied yet in this episode.
        """

    @staticmethod
    @abstractmethod
    def report_reply(record: Mapping[str, Any]) -> ReplyReport:
        """Return a reply in words.

        Args:
            record: with what `reply_record` holds; what else is in it does not matter.
        """
