"""Signs that the responses of an entry may not come from its model alone.

No sign refuses an entry. Replay verifies that the scores follow from the responses; it cannot show
who wrote them. `verify` prints the signs, and the site shows them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.files import ENTRY_JSON, MAX_BYTES, open_entry
from ragen_bench.leaderboard.pull_request import Branch
from ragen_bench.leaderboard.schema import Entry, Figure, parse_entry, read_as
from ragen_bench.leaderboard.strict_json import EntryError, parse
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.people import PREFIX, is_human
from ragen_bench.runs.schema import EpisodeRecord, RunConfig, Text
from ragen_bench.scores.contamination import UNSEEN, find_leads, find_setting_differences
from ragen_bench.statistics import Estimate, mean_of
from ragen_envs.core.protocol import Player
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import find_reference

SCRIPTED: dict[str, type[RandomModel] | type[OracleModel]] = {
    "random": RandomModel,
    "oracle": OracleModel,
}
"""Models whose responses are recomputed."""
RARE = 1e-4
"""A probability below this is a sign."""
_MIN_COMPARISONS = 20
_MIN_PLAN = 3
"""Length of an oracle plan for which other players usually choose different actions."""


@dataclass(frozen=True)
class Sign:
    """An observation, with its numbers, that makes an entry less plausible; `name` is one word."""

    name: str
    message: str

    def as_json(self) -> JsonObject:
        """Return the sign as `verify --json` and the site's data write it."""
        return {"name": self.name, "said": self.message}


class Plausibility:
    """Collects signs from the replayed episodes of one entry."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._is_scripted = config.model in SCRIPTED
        # Agents and people: without tokens of one language model.
        self._is_agent = config.model.startswith(("python:", PREFIX))
        self._samples_differ = config.temperature > 0 and not is_human(config.model)
        self._oracle_plan: list[str] = []
        self._scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._first_sample: tuple[str, int, str] | None = None
        self._pairs = self._equal_pairs = self._plans = self._oracle_plans = 0
        self._responses = self._uncounted = self._cut_short = 0

    def begin(self, player: Player) -> None:
        """Record the oracle's first plan at the start of an episode."""
        self._oracle_plan = [] if self._is_scripted else list(player.best_actions())

    def add(self, episode: EpisodeRecord) -> None:
        """Add a replayed episode, in the order of the entry."""
        if self._is_scripted:
            return
        if episode.ceiling is not None and episode.score is not None:
            self._scores[episode.env].append((episode.score, episode.ceiling))
        for turn in episode.turns:
            self._responses += 1
            self._uncounted += turn.prompt_tokens == turn.completion_tokens == 0
            short = 0 < turn.completion_tokens < self._config.max_tokens
            is_cut = turn.finish == "length" and not turn.tokens_estimated
            self._cut_short += is_cut and short
        if not episode.turns:
            return
        if len(self._oracle_plan) >= _MIN_PLAN:
            self._plans += 1
            self._oracle_plans += episode.turns[0].actions == self._oracle_plan
        response = episode.turns[0].answer
        if self._first_sample and self._first_sample[:2] == (episode.env, episode.index):
            self._pairs += 1
            self._equal_pairs += response == self._first_sample[2]
        else:
            self._first_sample = episode.env, episode.index, response

    def find_signs(self) -> list[Sign]:
        """Return the signs of all episodes."""
        signs = [*self._find_above_optimal()]
        if not self._is_agent and self._responses and self._uncounted == self._responses:
            message = f"none was counted in {self._responses:,} responses of a language model"
            signs.append(Sign("tokens", message))
        if not self._is_agent and self._cut_short:
            message = (
                f"{self._cut_short:,} responses are recorded as cut at {self._config.max_tokens} "
                "tokens, but have fewer"
            )
            signs.append(Sign("cut", message))
        if (
            self._samples_differ
            and self._pairs >= _MIN_COMPARISONS
            and self._equal_pairs == self._pairs
        ):
            message = (
                f"all {self._pairs:,} later samples of an instance begin with the same response "
                f"as the first, at temperature {self._config.temperature:g}"
            )
            signs.append(Sign("samples", message))
        if self._plans >= _MIN_COMPARISONS and self._oracle_plans == self._plans:
            message = (
                f"all {self._plans:,} first responses for which the oracle has a plan of "
                f"{_MIN_PLAN} actions or more are that plan, where others may be as good"
            )
            signs.append(Sign("oracle", message))
        return signs

    def _find_above_optimal(self) -> Iterable[Sign]:
        """Yield the environments with more solved episodes than the best player's chance allows.

        Environments with a reference player are skipped: a model may beat it.
        """
        for env, episodes in self._scores.items():
            if find_reference(env) or not all(score in (0.0, 1.0) for score, _ in episodes):
                continue
            solved = sum(score == 1.0 for score, _ in episodes)
            probability = probability_of_at_least(solved, [optimal for _, optimal in episodes])
            if probability < RARE:
                expected = sum_in_order(optimal for _, optimal in episodes)
                yield Sign(
                    "ceiling",
                    f"{env}: {solved:,} of {len(episodes):,} episodes are solved; the best player "
                    f"solves {expected:.1f} on average, and that many with probability "
                    f"{probability:.1g}",
                )


def probability_of_at_least(solved: int, probabilities: Iterable[float]) -> float:
    """Return the probability of `solved` or more successes (exact Poisson binomial)."""
    numbers = np.ones(1)
    for probability in probabilities:
        numbers = np.append(numbers * (1 - probability), 0.0) + np.append(
            0.0, numbers * probability
        )
    return float(min(numbers[solved:].sum(), 1.0))


ENTRIES = "entries"
"""Folder of the entries in a leaderboard."""
_Z = NormalDist().inv_cdf(0.975)
"""Standard errors between a mean and a bound of its 95 % interval."""


class EntryScores(NamedTuple):
    """The success rates of an entry by environment, with its directory name and run.json."""

    name: str
    run: RunConfig
    success: dict[str, Estimate]

    @property
    def is_unseen(self) -> bool:
        """Whether the instances were unknown when the model was made."""
        return self.run.split in UNSEEN


def read_scores(name: str, entry: Entry) -> EntryScores:
    """Return the success rates that an entry states, or raise EntryError."""
    rows = read_as(_ROWS.validate_python, entry.summary.as_json()["envs"], "summary.envs")
    success = {
        row.env: Estimate(row.success, (row.success_interval[0], row.success_interval[1]))
        for row in rows
    }
    return EntryScores(name, entry.run, success)


def read_local_scores(entry: Path) -> Iterator[EntryScores]:
    """Yield the leaderboard's other entries, unverified; unreadable ones are skipped."""
    path = entry.absolute()
    if path.parent.name != ENTRIES:
        return
    for other in sorted(path.parent.iterdir()):
        if other.name == path.name:
            continue
        with suppress(EntryError):
            with open_entry(other) as files:
                data = files.read_entry()
            yield read_scores(other.name, parse_entry(parse(data)))


def read_base_scores(branch: Branch, without: str) -> Iterator[EntryScores]:
    """Yield the entries in the base of a branch except one, like `read_local_scores`."""
    folder = f"leaderboard/{ENTRIES}/"
    for file in branch.list_files(branch.base, folder):
        name, _, path = file.path.removeprefix(folder).partition("/")
        if path != ENTRY_JSON or file.kind != "blob" or name == without:
            continue
        if file.size.isdecimal() and int(file.size) <= MAX_BYTES[ENTRY_JSON]:
            with suppress(EntryError):
                yield read_scores(name, parse_entry(parse(branch.read_blob(file.object_id))))


def find_public_leads(entry: EntryScores, others: Iterable[EntryScores]) -> list[Sign]:
    """Return a sign for each other entry that, with this one, shows a lead on public instances.

    This takes two entries of the same model and settings: one on the public test split, and one on
    instances that the model cannot have seen, of the split `sealed` or `drawn`. Other pairs are
    skipped.
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
    # One-sided, by a normal approximation from the interval.
    below = lead.value - lead.interval[0]
    probability = NormalDist().cdf(-_Z * lead.value / below) if below > 0 else 1.0
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


_Rate = Annotated[Figure, Field(ge=0, le=1)]


@dataclass
class _Row:
    env: Text
    success: _Rate
    success_interval: Annotated[list[_Rate], Field(min_length=2, max_length=2)]


_ROWS = TypeAdapter(list[_Row])
