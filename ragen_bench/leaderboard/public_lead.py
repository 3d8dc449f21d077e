"""Finds models that do much better on public instances than on instances they cannot have seen.

This takes two entries of the same model and settings: one on the public test split, and one on the
split `sealed` or `drawn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, MAX_BYTES, open_entry
from ragen_bench.leaderboard.git import Branch
from ragen_bench.leaderboard.plausibility import RARE, SCRIPTED, Sign
from ragen_bench.leaderboard.schema import Entry, Figure, parse_entry, read_as
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.schema import RunConfig, Text
from ragen_bench.scores.contamination import UNSEEN, find_leads, find_setting_differences
from ragen_bench.statistics import Estimate, mean_of

ENTRIES = "entries"
"""Folder of the entries in a leaderboard."""
_Z = NormalDist().inv_cdf(0.975)
"""Standard errors between a mean and a bound of its 95 % interval."""


class EntryScores(NamedTuple):
    """The success rates of an entry.

    Attributes:
        name: Directory name of the entry.
        run: Content of run.json.
        success: Success rate by environment.
    """

    name: str
    run: RunConfig
    success: dict[str, Estimate]

    @property
    def is_unseen(self) -> bool:
        """Whether the instances were unknown when the model was made."""
        return self.run.split in UNSEEN


def read_scores(name: str, entry: Entry) -> EntryScores:
    """Return the success rates that an entry states.

    Raises:
        EntryError: if one of them is not a rate.
    """
    rows = read_as(_ROWS.validate_python, entry.summary.as_json()["envs"], "summary.envs")
    success = {
        row.env: Estimate(row.success, (row.success_interval[0], row.success_interval[1]))
        for row in rows
    }
    return EntryScores(name, entry.run, success)


def read_local_scores(entry: Path) -> Iterator[EntryScores]:
    """Yield the other entries of the leaderboard that contains an entry.

    They are not verified here. Directories that cannot be read as an entry are skipped; verifying
    them reports why.
    """
    path = entry.absolute()
    if path.parent.name != ENTRIES:
        return
    for other in sorted(path.parent.iterdir()):
        if other.name == path.name:
            continue
        try:
            with open_entry(other) as files:
                data = files.entry.read(files.entry_bytes)
        except EntryError:
            continue
        yield from _try_read(other.name, data)


def read_base_scores(branch: Branch, without: str) -> Iterator[EntryScores]:
    """Yield the entries in the base of a branch except one, like `read_local_scores`."""
    folder = f"leaderboard/{ENTRIES}/"
    for file in branch.list_files(branch.base, folder):
        name, _, path = file.path.removeprefix(folder).partition("/")
        if path != ENTRY_JSON or file.kind != "blob" or name == without:
            continue
        if file.size.isdecimal() and int(file.size) <= MAX_BYTES[ENTRY_JSON]:
            yield from _try_read(name, branch.read_blob(file.object_id))


def _try_read(name: str, data: bytes) -> Iterator[EntryScores]:
    try:
        yield read_scores(name, parse_entry(parse(data)))
    except (BadJsonError, EntryError):
        return


def find_public_leads(entry: EntryScores, others: Iterable[EntryScores]) -> list[Sign]:
    """Return a sign for each other entry that, with this one, shows a lead on public instances.

    Args:
        entry: Entry on public or on unseen instances.
        others: Other entries. Those of other models, other settings or the same kind of instances
            are skipped.
    """
    signs = [
        _compare(other, entry) if entry.is_unseen else _compare(entry, other) for other in others
    ]
    return [sign for sign in signs if sign]


def _compare(public: EntryScores, unseen: EntryScores) -> Sign | None:
    if public.is_unseen or not unseen.is_unseen or public.run.model in SCRIPTED:
        return None
    if find_setting_differences(public.run, unseen.run):
        return None
    differences = find_leads(public.success, unseen.success)
    if not differences:
        return None
    lead = mean_of(list(differences.values()))
    probability = _one_sided_p(lead)
    if probability >= RARE:
        return None
    rates = [
        100 * mean_of([side.success[env] for env in differences]).value for side in (public, unseen)
    ]
    low, high = (100 * bound for bound in lead.interval)
    message = (
        f"{public.name} solves {rates[0]:.1f} % on {public.run.split}, and {unseen.name} with the "
        f"same model and settings {rates[1]:.1f} % on {unseen.run.split}: {100 * lead.value:.1f} "
        f"points less ({low:.1f} to {high:.1f}), with probability {probability:.1g} by chance"
    )
    return Sign("public", message)


def _one_sided_p(lead: Estimate) -> float:
    """Return the one-sided p-value of a lead, by a normal approximation from its interval."""
    below = lead.value - lead.interval[0]
    return NormalDist().cdf(-_Z * lead.value / below) if below > 0 else 1.0


_Rate = Annotated[Figure, Field(ge=0, le=1)]


@dataclass
class _Row:
    env: Text
    success: _Rate
    success_interval: Annotated[list[_Rate], Field(min_length=2, max_length=2)]


_ROWS = TypeAdapter(list[_Row])
