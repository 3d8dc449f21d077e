"""Comparisons of runs with the first of them, on the instances that both have played."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from string import ascii_uppercase
from typing import Any, NamedTuple

from ragen_bench.environments import is_text_env
from ragen_bench.errors import UserError
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import Object, RunConfig, RunEnv
from ragen_bench.runs.specification import spec_hash
from ragen_bench.scores.baselines import floor_and_ceiling
from ragen_bench.statistics import (
    Estimate,
    Paired,
    detectable_by,
    mean_of,
    normalised,
    paired,
)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sealed import SealedKeyError, open_key
from ragen_envs.core.sums import sum_in_order

_MUST_AGREE = (
    *("split", "sealed_key_hash", "draw", "response_format", "constrained", "pictures"),
    "opponent",
)
"""Settings without which two runs did not play the same game."""
_SHOULD_AGREE = (
    *("prompt_hash", "history", "max_tokens", "temperature", "top_p", "samples", "seed"),
    *("random_player", "random_player_identity"),
)
"""Settings that may be what a user wants to compare; a difference is named."""


class _Scored(NamedTuple):
    """What counts of an episode."""

    success: float | None
    score: float | None
    gained: float


_Samples = dict[int, list[_Scored]]
"""The episodes of an environment, by instance."""
_Chosen = list[list[_Scored]]
"""The episodes of the compared instances, in the same order for both runs."""


class _Setting(NamedTuple):
    """What two runs of an environment share, and the common instances."""

    env: str
    split: Split
    response_format: AnswerFormat
    pictured: bool
    sealed_key_hash: str
    draw: str
    spec_hash: str
    common: tuple[int, ...]


_Anchors = Callable[[_Setting], tuple[tuple[float, float] | None, str]]
"""Returns the floor and the ceiling on the common instances, or why they cannot be known."""


class _Side(NamedTuple):
    """A run with the letter that names it, and what counts of its episodes."""

    letter: str
    run: RunDirectory
    episodes: dict[str, _Samples]

    @property
    def recorded(self) -> int:
        return sum(len(samples) for env in self.episodes.values() for samples in env.values())


def incomparable(a: RunConfig, b: RunConfig, letters: str = "AB") -> list[str]:
    """Return why figures of two runs may not stand side by side; nothing if they may.

    Args:
        a: the content of a run's run.json.
        b: that of another.
        letters: what the lines call the two.
    """
    differing = _differing(a, b, _MUST_AGREE, letters)
    if differing:  # The specifications' hashes follow from some of these and would say it again.
        return differing
    specs = [{env.id: env.spec_hash for env in config.envs} for config in (a, b)]
    common = [env for env in specs[0] if env in specs[1]]
    if not common:
        return ["no environment is in both"]
    return [
        f"{env} is specified otherwise: {specs[0][env]} in {letters[0]}, "
        f"{specs[1][env]} in {letters[1]}"
        for env in common
        if specs[0][env] != specs[1][env]
    ]


def compare_with_first(runs: Sequence[RunDirectory]) -> Object:
    """Compare the first run with each of the others by pairs of episodes on the same instance.

    Episodes are paired by environment, split and index; the samples of an instance are averaged.
    Instances that only one of the two has played do not count. Figures are rounded to six digits.
    Every interval is of 95 % by itself, whatever the number of comparisons.

    Args:
        runs: two at least, 26 at most.

    Returns:
        `runs`, each with its letter as `name`, `run`, `model`, `suite`, and the `episodes` that it
        has of those `planned`; `comparisons`, one for each run but the first, in their order: `a`
        and `b`, the two; `notes`, lines that a reader of the figures must know; `envs`, for each
        environment the number of common `instances`, the difference of `success` and of the
        `normalised` score with its interval (None where it is unknown), of the `return` where
        success is not told, and on how many instances which run was ahead (None where they differ
        in their numbers of samples); `suite`, their means over environments. Each difference has
        `detectable`, from which on such runs find one with a power of 80 %, None where they show
        no spread.

    Raises:
        UserError: if there are too few or too many runs, two may not stand side by side, or have
            no finished instance in common.
    """
    if not 2 <= len(runs) <= len(ascii_uppercase):
        raise UserError(f"2 to {len(ascii_uppercase)} runs can be compared, got {len(runs)}")
    for letter, run in zip(ascii_uppercase[1:], runs[1:], strict=False):
        _refuse_incomparable(runs[0], run, f"A{letter}")
    sides = [
        _Side(letter, run, _scored(run)) for letter, run in zip(ascii_uppercase, runs, strict=False)
    ]
    anchors = cache(_anchors)  # runs that have played the same share them
    return {
        "runs": [
            {
                "name": side.letter,
                **_named(side.run),
                "episodes": side.recorded,
                "planned": side.run.config.planned,
            }
            for side in sides
        ],
        "comparisons": [_compared(sides[0], side, anchors) for side in sides[1:]],
    }


def _refuse_incomparable(a: RunDirectory, b: RunDirectory, letters: str) -> None:
    if reasons := incomparable(a.config, b.config, letters):
        named = f"{a.path} ({letters[0]}) and {b.path} ({letters[1]})"
        raise UserError(f"{named} cannot be compared: {'; '.join(reasons)}")


def _compared(a: _Side, b: _Side, anchors_of: _Anchors) -> Object:
    """Return the comparison of two runs that may stand side by side."""
    config = a.run.config
    notes = _otherwise(config, b.run.config, a.letter + b.letter)
    notes += [*_gap(a), *_gap(b), *_overlaps(a, b)]
    rows = []
    for env in config.envs:
        of_a, of_b = a.episodes[env.id], b.episodes.get(env.id, {})
        if common := sorted(of_a.keys() & of_b.keys()):
            anchors, problem = anchors_of(_setting(config, env, common))
            notes += [problem] if problem else []
            rows.append(_row(env.id, _chosen(of_a, common), _chosen(of_b, common), anchors))
    if not rows:
        raise UserError(f"no instance is finished in both {a.run.path} and {b.run.path}", 1)
    return {
        "a": _named(a.run),
        "b": _named(b.run),
        "split": config.split,
        "response_format": config.response_format,
        "constrained": config.constrained,
        "notes": notes,
        "envs": rows,
        "suite": {
            "success": _suite([row["success"] for row in rows if row["success"]]),
            "normalised": _suite([row["normalised"] for row in rows if row["normalised"]]),
        },
    }


def _differing(a: RunConfig, b: RunConfig, names: Sequence[str], letters: str) -> list[str]:
    of_a, of_b = a.as_json(), b.as_json()
    return [
        f"{name}: {_shown(of_a.get(name))} in {letters[0]}, "
        f"{_shown(of_b.get(name))} in {letters[1]}"
        for name in names
        if of_a.get(name) != of_b.get(name)
    ]


def _otherwise(a: RunConfig, b: RunConfig, letters: str) -> list[str]:
    """Return a line for each setting that may differ and does.

    What both servers refused was asked for in vain; what one refused is a difference, even where
    the same was asked for.
    """
    of_a, of_b = a.left_to_server, b.left_to_server
    used = [name for name in _SHOULD_AGREE if not (name in of_a and name in of_b)]
    lines = _differing(a, b, used, letters)
    if of_a != of_b:
        left = [", ".join(names) or "nothing" for names in (of_a, of_b)]
        lines.append(
            f"refused by the server, whose own default counts: {left[0]} in {letters[0]}, "
            f"{left[1]} in {letters[1]}"
        )
    return lines


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _scored(run: RunDirectory) -> dict[str, _Samples]:
    """Return what counts of a run's episodes, by environment in the order of run.json."""
    scored: dict[str, _Samples] = {env.id: {} for env in run.config.envs}
    for episode in run.episodes():
        success = None if episode.success is None else float(episode.success)
        sample = _Scored(success, episode.score, episode.episode_return)
        scored[episode.env].setdefault(episode.index, []).append(sample)
    return scored


def _gap(side: _Side) -> list[str]:
    """Return a line if the run is incomplete."""
    planned = side.run.config.planned
    if side.recorded == planned:
        return []
    return [f"{side.letter} is incomplete: {side.recorded} of {planned} episodes"]


def _overlaps(a: _Side, b: _Side) -> list[str]:
    """Return a line for each environment of which the runs have not played the same instances."""
    lines = []
    for env in {**a.episodes, **b.episodes}:
        ours, theirs = a.episodes.get(env, {}).keys(), b.episodes.get(env, {}).keys()
        if ours != theirs:
            counts = f"{len(ours)} instances in {a.letter}, {len(theirs)} in {b.letter}"
            lines.append(f"{env}: {counts}, compared are the {len(ours & theirs)} in both")
    return lines


def _setting(config: RunConfig, env: RunEnv, common: Sequence[int]) -> _Setting:
    return _Setting(
        env.id,
        config.split,
        config.response_format,
        config.pictures,
        config.sealed_key_hash,
        config.draw_key,
        env.spec_hash,
        tuple(common),
    )


def _anchors(setting: _Setting) -> tuple[tuple[float, float] | None, str]:
    env, split = setting.env, setting.split
    if not is_text_env(env):
        return None, f"{env}: norm. is left out, it has no oracle"
    if split == "sealed" and _held_key() != setting.sealed_key_hash:
        return None, f"{env}: norm. is left out, the sealed split's key is not at hand"
    pictured = setting.pictured
    if spec_hash(env, split, setting.response_format, pictured=pictured) != setting.spec_hash:
        return None, f"{env}: norm. is left out, the runs are of another version of it"
    floor, ceiling = floor_and_ceiling(env, split, setting.common, setting.draw)
    if ceiling <= floor:
        reason = "on these instances the random player does as well as the best one"
        return None, f"{env}: norm. is left out, {reason}"
    return (floor, ceiling), ""


def _held_key() -> str | None:
    try:
        return open_key()
    except SealedKeyError:
        return None


def _chosen(scored: _Samples, indices: Sequence[int]) -> _Chosen:
    return [scored[index] for index in indices]


def _row(env: str, a: _Chosen, b: _Chosen, anchors: tuple[float, float] | None) -> Object:
    """Return an environment's figures, given the episodes of the common instances."""
    tells_success = all(_tell_success(side) for side in (a, b))
    main = _paired(a, b, "success" if tells_success else "gained")
    figures = _figures(main.a, main.b, main.difference)
    return {
        "env": env,
        "instances": len(a),
        "success": figures if tells_success else None,
        **({} if tells_success else {"return": figures}),
        "a_ahead": main.a_ahead,
        "b_ahead": main.b_ahead,
        "normalised": anchors and _normalised(_paired(a, b, "score"), *anchors),
    }


def _tell_success(instances: _Chosen) -> bool:
    return any(episode.success is not None for samples in instances for episode in samples)


def _paired(a: _Chosen, b: _Chosen, figure: str) -> Paired:
    """Compare a figure of the two runs; an episode that does not tell it counts 0."""
    sides = [
        [[float(getattr(episode, figure) or 0) for episode in samples] for samples in side]
        for side in (a, b)
    ]
    return paired(*sides, bounded=figure != "gained")


def _normalised(score: Paired, floor: float, ceiling: float) -> Object | None:
    # Floor and ceiling are the same for both: of a difference, only the scale remains.
    a, b = normalised(score.a, floor, ceiling), normalised(score.b, floor, ceiling)
    if a is None or b is None:
        return None
    figures = _figures(a, b, score.difference.scaled(1 / (ceiling - floor)))
    return {**figures, "floor": round(floor, 6), "ceiling": round(ceiling, 6)}


def _figures(a: float, b: float, difference: Estimate) -> Object:
    detectable = detectable_by(difference.interval)
    return {
        "a": round(a, 6),
        "b": round(b, 6),
        "difference": round(difference.value, 6),
        "interval": [round(bound, 6) for bound in difference.interval],
        "detectable": None if detectable is None else round(detectable, 6),
    }


def _suite(rows: Sequence[Object]) -> Object | None:
    """Return the mean over environments, which are independent of each other."""
    if not rows:
        return None
    differences = [Estimate(row["difference"], tuple(row["interval"])) for row in rows]
    a, b = (sum_in_order(row[name] for row in rows) / len(rows) for name in ("a", "b"))
    return _figures(a, b, mean_of(differences))


def _named(run: RunDirectory) -> Object:
    return {"run": str(run.path), "model": run.config.model, "suite": run.config.suite}
