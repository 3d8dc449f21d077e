"""Compares runs with the first of them, on their common instances."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from string import ascii_uppercase
from typing import NamedTuple

from ragen_bench.environments import has_oracle
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.people import count_people, is_human
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import RunConfig
from ragen_bench.runs.specification import spec_hash
from ragen_bench.scores.baselines import (
    compute_baseline,
    compute_floor_and_ceiling,
    is_close_to_blind,
)
from ragen_bench.scores.differences import (
    Common,
    Sample,
    Samples,
    Scale,
    find_lowest_success,
    make_row,
    mean_row,
)
from ragen_bench.scores.efficiency import EfficiencyMeter
from ragen_bench.suites import plays
from ragen_envs.core.sealed import SealedKeyError, open_key

MEAN = ""  # key of the mean over environments
_MUST_AGREE = (
    *("split", "sealed_key_hash", "draw", "response_format", "constrained", "pictures"),
    "opponent",
)
"""Settings that must be equal for two runs to be comparable."""
_SHOULD_AGREE = (
    *("prompt_hash", "history", "max_tokens", "temperature", "top_p", "samples", "seed"),
    *("random_player", "random_player_identity"),
)
"""Settings that a user may want to compare; differences are noted."""


class _Side(NamedTuple):
    letter: str
    run: RunDirectory
    episodes: dict[str, Samples]

    @property
    def recorded(self) -> int:
        return sum(len(samples) for env in self.episodes.values() for samples in env.values())

    @property
    def people(self) -> int:
        """Number of people who played, 0 for a model."""
        if not is_human(self.run.config.model):
            return 0
        instances = (samples for env in self.episodes.values() for samples in env.values())
        return count_people(sample.player for samples in instances for sample in samples)

    def describe(self) -> JsonObject:
        """Return the run with its model, suite and, if people played, their number."""
        config, people = self.run.config, self.people
        described = {"run": str(self.run.path), "model": config.model, "suite": config.suite}
        return {**described, **({"people": people} if people else {})}


def find_obstacles(a: RunConfig, b: RunConfig, letters: str = "AB") -> list[str]:
    """Return the reasons why two runs, named by `letters`, are not comparable."""
    differences = _differences(a, b, _MUST_AGREE, letters)
    if differences:  # Some of these also change the hashes of specifications.
        return differences
    specs = [{env.id: env.spec_hash for env in config.envs} for config in (a, b)]
    common = [env for env in specs[0] if env in specs[1]]
    if not common:
        return ["no environment is in both"]
    return [
        f"{env} has different specifications: {specs[0][env]} in {letters[0]}, "
        f"{specs[1][env]} in {letters[1]}"
        for env in common
        if specs[0][env] != specs[1][env]
    ]


def compare_with_first(runs: Sequence[RunDirectory]) -> JsonObject:
    """Compare the first of 2 to 26 runs with each of the others on their common instances.

    Episodes are paired by environment, split and index; the samples of an instance are averaged.
    Values are rounded to six digits. Each interval has a level of 95 %, without correction for the
    number of comparisons.

    The result has `runs`, each with its letter as `name`, `run`, `model`, `suite`, and the numbers
    of `episodes` and of `planned` ones, and `comparisons`, one for each run after the first: `a`
    and `b`, the two runs; `notes`, caveats in one line each; `envs`, the rows of `make_row`;
    `suite`, the means over environments.

    A UserError is raised if the number of runs is wrong, or two runs are not comparable or have no
    common finished instance.
    """
    if not 2 <= len(runs) <= len(ascii_uppercase):
        raise UserError(f"2 to {len(ascii_uppercase)} runs can be compared, got {len(runs)}")
    for letter, run in zip(ascii_uppercase[1:], runs[1:], strict=False):
        if reasons := find_obstacles(runs[0].config, run.config, f"A{letter}"):
            names = f"{runs[0].path} (A) and {run.path} ({letter})"
            raise UserError(f"{names} cannot be compared: {'; '.join(reasons)}")
    sides = [
        _Side(letter, run, _read_samples(run))
        for letter, run in zip(ascii_uppercase, runs, strict=False)
    ]
    # Once for all runs on the same instances, whose settings agree.
    find_scale = cache(partial(_find_scale, runs[0].config))
    return {
        "runs": [
            {
                "name": side.letter,
                **side.describe(),
                "episodes": side.recorded,
                "planned": side.run.config.planned,
            }
            for side in sides
        ],
        "comparisons": [_compare(sides[0], side, find_scale) for side in sides[1:]],
    }


def _compare(
    a: _Side, b: _Side, find_scale: Callable[[str, str, tuple[int, ...]], tuple[Scale | None, str]]
) -> JsonObject:
    config = a.run.config
    notes = _setting_notes(config, b.run.config, a.letter + b.letter)
    for side in (a, b):
        if side.recorded != (planned := side.run.config.planned):
            notes.append(f"{side.letter} is incomplete: {side.recorded} of {planned} episodes")
        if given_up := sum(each.outcome == "given_up" for each in side.run.episodes()):
            notes.append(f"{side.letter} has {given_up} given-up episodes, which count as failures")
    for name in {**a.episodes, **b.episodes}:
        ours, theirs = a.episodes.get(name, {}).keys(), b.episodes.get(name, {}).keys()
        if ours != theirs:
            counts = f"{len(ours)} instances in {a.letter}, {len(theirs)} in {b.letter}"
            notes.append(f"{name}: {counts}; the {len(ours & theirs)} in both are compared")
    rows = []
    for env in config.envs:
        of_a, of_b = a.episodes[env.id], b.episodes.get(env.id, {})
        if common := sorted(of_a.keys() & of_b.keys()):
            scale, problem = find_scale(env.id, env.spec_hash, tuple(common))
            notes += [problem] if problem else []
            side_a, side_b = ([samples[i] for i in common] for samples in (of_a, of_b))
            played = {"a": side_a, "b": side_b}
            blind = _find_blind(config, env.id, tuple(common), played) if scale else None
            rows.append(make_row(env.id, side_a, side_b, scale, blind))
    if not rows:
        raise UserError(f"no instance is finished in both {a.run.path} and {b.run.path}", 1)
    return {
        "a": a.describe(),
        "b": b.describe(),
        "split": config.split,
        "response_format": config.response_format,
        "constrained": config.constrained,
        "notes": notes,
        "envs": rows,
        "suite": {
            name: mean_row(
                [row[name] for row in rows if row[name]], max(a.people, b.people) > 1, most
            )
            for name, most in (("success", 1.0), ("normalised", None))
        },
    }


def _differences(a: RunConfig, b: RunConfig, names: Sequence[str], letters: str) -> list[str]:
    of_a, of_b = a.as_json(), b.as_json()
    lines = []
    for name in names:
        values = [of_a.get(name), of_b.get(name)]
        if values[0] != values[1]:
            texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
            lines.append(f"{name}: {texts[0]} in {letters[0]}, {texts[1]} in {letters[1]}")
    return lines


def _setting_notes(a: RunConfig, b: RunConfig, letters: str) -> list[str]:
    """Return a line for each setting that may differ and does.

    A setting that both servers refused had no effect. A setting that one server refused is a
    difference, even if both runs requested the same value.
    """
    of_a, of_b = a.left_to_server, b.left_to_server
    used = [name for name in _SHOULD_AGREE if not (name in of_a and name in of_b)]
    lines = _differences(a, b, used, letters)
    if of_a != of_b:
        left = [", ".join(names) or "nothing" for names in (of_a, of_b)]
        lines.append(
            f"refused by the server, which used its default: {left[0]} in {letters[0]}, "
            f"{left[1]} in {letters[1]}"
        )
    return lines


def _read_samples(run: RunDirectory) -> dict[str, Samples]:
    """Return the scores of a run by environment, in the order of run.json."""
    samples: dict[str, Samples] = {env.id: {} for env in run.config.envs}
    meter = EfficiencyMeter(run.config)
    for episode in run.episodes():
        success = None if episode.success is None else float(episode.success)
        measured = meter.measure(episode)
        effort = measured and measured.actions
        player = episode.player.casefold()
        sample = Sample(success, episode.score, episode.episode_return, effort, player)
        samples[episode.env].setdefault(episode.index, []).append(sample)
    return samples


def _find_scale(
    config: RunConfig, env: str, recorded_hash: str, common: tuple[int, ...]
) -> tuple[Scale | None, str]:
    """Return the scale of scores on the common instances, or the reason why it is unknown."""
    split = config.split
    if not has_oracle(env):
        return None, f"{env}: norm. is omitted: it has no oracle"
    if not plays("random", env):
        return None, f"{env}: norm. is omitted: it has no random player"
    if split == "sealed":
        try:
            has_key = open_key() == config.sealed_key_hash
        except SealedKeyError:
            has_key = False
        if not has_key:
            return None, f"{env}: norm. is omitted: the key of the sealed split is missing"
    if spec_hash(env, split, config.response_format, pictured=config.pictures) != recorded_hash:
        return None, f"{env}: norm. is omitted: the runs used another version of it"
    floor, ceiling = compute_floor_and_ceiling(env, split, common, config.draw_key)
    if ceiling <= floor:
        reason = "on these instances the random player is as good as the best one"
        return None, f"{env}: norm. is omitted: {reason}"
    return (floor, ceiling), ""


def _find_blind(
    config: RunConfig, env: str, common: tuple[int, ...], played: Mapping[str, Common]
) -> JsonObject | None:
    """Return the success of the blind script on the common instances, None where it has none.

    `played` has the episodes of both sides, those close to it are in the result.
    """
    where = env, config.split, common
    blind = compute_baseline("blind", *where, draw=config.draw_key)
    if blind is None or blind["success"] is None:
        return None
    random = compute_baseline("random", *where, draw=config.draw_key)
    players = blind["success"], random["success"] if random else 0.0
    lowest = {side: find_lowest_success(samples) for side, samples in played.items()}
    close = [side for side, low in lowest.items() if is_close_to_blind(low, *players)]
    return {**{name: blind[name] for name in ("success", "success_interval")}, "close": close}


def describe_close(compared: JsonObject) -> str:
    """Return the runs that are not shown to be above blind players, and where, or ""."""
    close: dict[str, dict[str, None]] = {}
    envs = set()
    for run, differences in zip(compared["runs"][1:], compared["comparisons"], strict=True):
        names = {"a": "A", "b": run["name"]}
        for row in differences["envs"]:
            envs.add(row["env"])
            for side in row.get("blind", {}).get("close", ()):
                close.setdefault(names[side], {})[row["env"]] = None
    letters: dict[str, list[str]] = {}
    for letter in sorted(close):
        listed = ", ".join(env.rpartition("/")[2] for env in close[letter])
        where = "everywhere" if len(close[letter]) == len(envs) else f"in {listed}"
        letters.setdefault(where, []).append(letter)
    found = "; ".join(f"{', '.join(names)} {where}" for where, names in letters.items())
    return found and f"Not shown to be above random or blind: {found}"


def has_mean(differences: JsonObject) -> bool:
    """Return whether the comparison of two runs has a mean over environments."""
    return len(differences["envs"]) > 1 and differences["suite"]["success"] is not None


def group_by_environment(compared: JsonObject) -> dict[str, list[tuple[str, JsonObject]]]:
    """Return a run's letter and its row by environment, with `MEAN` as the last."""
    rows: dict[str, list[tuple[str, JsonObject]]] = {}
    means = []
    for run, differences in zip(compared["runs"][1:], compared["comparisons"], strict=True):
        for row in differences["envs"]:
            rows.setdefault(row["env"], []).append((run["name"], row))
        if has_mean(differences):
            means.append((run["name"], differences["suite"]))
    return {**rows, MEAN: means} if means else rows


def collect_notes(compared: JsonObject) -> list[str]:
    """Return the notes of all comparisons, without duplicates."""
    notes = [note for differences in compared["comparisons"] for note in differences["notes"]]
    return list(dict.fromkeys(notes))
