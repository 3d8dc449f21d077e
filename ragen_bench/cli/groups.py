"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.options.looks import Option

if TYPE_CHECKING:
    from ragen_bench.leaderboard.announcements.draws import FindDraw


@dataclass(frozen=True, kw_only=True)
class PriceOptions:
    """What tokens cost."""

    prices: Annotated[Path | None, Option("FILE", "what tokens cost (default: $RAGEN_PRICES)")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class DrawsOptions:
    """Where the draws of entries of the drawn split are."""

    draws: Annotated[
        Path | None,
        Option(
            "DIR",
            "of drawn entries: the draws, or the file of one (default: draws/ beside "
            "the entries' folder)",
        ),
    ] = None

    def find_draw(self) -> FindDraw | None:
        """Return what finds a draw, None for the leaderboard that an entry lies in.

        Raises:
            UserError: if nothing is there.
        """
        from ragen_bench.leaderboard.announcements.draws import find_draws_in

        return None if self.draws is None else find_draws_in(self.draws)


@dataclass(frozen=True, kw_only=True)
class ForeignOptions:
    """Environments of other packages in which a run was played."""

    env: Annotated[
        tuple[str, ...],
        Option("ID", "another package's environment of the run, to import; may be repeated"),
    ] = ()

    def name_environments(self) -> None:
        """Import what the user named: a run's own word is not enough to run somebody's code.

        Raises:
            UserError: if there is no such environment.
        """
        from ragen_bench.suites import env_id

        for env in self.env:
            env_id(env, opposed=None)


@dataclass(frozen=True, kw_only=True)
class PlayedOptions(ForeignOptions):
    """What else of a run has to be imported, for its random player to play again."""

    random_player: Annotated[
        str | None, Option("NAME", "MODULE:FUNCTION, the run's random player, to import")
    ] = None

    def name_own(self) -> None:
        """Import the environments and the random player that the user named.

        Raises:
            UserError: if one of them is not there.
        """
        from ragen_bench.models.random_player import name_random_player

        self.name_environments()
        if self.random_player is not None:
            name_random_player(self.random_player)
