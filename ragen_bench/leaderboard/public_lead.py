"""Whether a model does much better on public instances than on those that it cannot have seen.

One entry alone does not tell: that takes a second one of the same model with the same settings, on
the split `sealed` or `drawn`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter

from ragen_bench.leaderboard.plausibility import RARE, Sign
from ragen_bench.leaderboard.schema import Entry, Figure, read_as
from ragen_bench.leaderboard.scripted import SCRIPTED
from ragen_bench.runs.schema import RunConfig, Text
from ragen_bench.scores.contamination import UNSEEN, differing_settings, leads
from ragen_bench.statistics import Estimate, mean_of

_SIDE = NormalDist().inv_cdf(0.975)
"""Standard errors between a figure and a bound of its 95 % interval."""


class Scored(NamedTuple):
    """An entry, and how often it solved what.

    Attributes:
        name: the name of its directory.
        run: the content of run.json.
        success: by environment.
    """

    name: str
    run: RunConfig
    success: dict[str, Estimate]

    @property
    def unseen(self) -> bool:
        """Whether nobody had its instances when the model was made."""
        return self.run.split in UNSEEN


def scored(name: str, entry: Entry) -> Scored:
    """Return an entry with its success.

    Raises:
        EntryError: if it has a success that is no rate.
    """
    rows = read_as(_ROWS.validate_python, entry.summary.as_json()["envs"], "summary.envs")
    success = {
        row.env: Estimate(row.success, (row.success_interval[0], row.success_interval[1]))
        for row in rows
    }
    return Scored(name, entry.run, success)


def public_leads(entry: Scored, others: Iterable[Scored]) -> list[Sign]:
    """Return a sign for each pair of this entry and another that shows a lead on public instances.

    Args:
        entry: on public instances or on unseen ones.
        others: any entries; those of other models, other settings or the same kind of instances
            are left out.
    """
    found = [_sign(other, entry) if entry.unseen else _sign(entry, other) for other in others]
    return [sign for sign in found if sign]


def _sign(public: Scored, unseen: Scored) -> Sign | None:
    if public.unseen or not unseen.unseen or public.run.model in SCRIPTED:
        return None
    if differing_settings(public.run, unseen.run):
        return None
    differences = leads(public.success, unseen.success)
    if not differences:
        return None
    lead = mean_of(list(differences.values()))
    chance = _chance(lead)
    if chance >= RARE:
        return None
    solved = [
        100 * mean_of([side.success[env] for env in differences]).value for side in (public, unseen)
    ]
    low, high = (100 * bound for bound in lead.interval)
    said = (
        f"{public.name} solves {solved[0]:.1f} % on {public.run.split}, and {unseen.name} with the "
        f"same model and settings {solved[1]:.1f} % on {unseen.run.split}: {100 * lead.value:.1f} "
        f"points less ({low:.1f} to {high:.1f}), and as much by a chance of {chance:.1g}"
    )
    return Sign("public", said)


def _chance(lead: Estimate) -> float:
    """Return how likely so large a lead is of a model that does as well on either, one-sided.

    The lower bound of the interval is two standard errors away, as for a normal distribution.
    """
    below = lead.value - lead.interval[0]
    return NormalDist().cdf(-_SIDE * lead.value / below) if below > 0 else 1.0


_Rate = Annotated[Figure, Field(ge=0, le=1)]


@dataclass
class _Row:
    env: Text
    success: _Rate
    success_interval: Annotated[list[_Rate], Field(min_length=2, max_length=2)]


_ROWS = TypeAdapter(list[_Row])
