"""Checks of a study's definition, each with the line that its author reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise

from pydantic import ValidationError

from ragen_bench.errors import UserError, unknown
from ragen_starpo.laboratory.settings import read_arm
from ragen_starpo.recipes.recipe import describe_error
from ragen_starpo.studies.definition import (
    CURVES,
    FEW_BOARDS,
    HELD_OUT,
    METRICS,
    WINDOW,
    Claim,
    Knob,
    Study,
    Task,
)

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
PAGE = "findings"
"""The page of all studies, whose files are next to the plans of studies."""
_FRACTIONS = ("success", "clip_fraction", "covariance_fraction", "kept", "void")
"""Curves that are from 0 to 1."""


def find_problems(study: Study) -> Iterator[str]:
    """Yield what is wrong with a study; nothing if it can be run and judged."""
    if not _FILE_NAME.fullmatch(study.name):  # it is part of paths and commands
        yield f"name: {study.name!r} is not a name of letters, digits, - . _ (100 at most)"
    if study.reference not in study.arms:
        yield f"reference: {unknown('arm', study.reference, study.arms)}"
    if study.name == PAGE:
        yield f"name: {PAGE} is that of the page; give the file another name"
    if not study.claims:
        yield "claims: name at least one"
    rising = [*study.looks, study.collapse_look]
    if not study.looks or any(later <= earlier for earlier, later in pairwise(rising)):
        yield f"looks must rise, and collapse_look must be above all of them, got {rising}"
    for name in study.arms:
        yield from _problems_of_arm(study, name)
    for number, claim in enumerate(study.claims, 1):
        for problem in (*_problems_of_claim(study, claim), *_problems_of_knob(claim.knob)):
            yield f"claim {number}: {problem}"


def _problems_of_arm(study: Study, name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"{name!r} is not a valid name; use lower-case letters, digits and hyphens"
    known = [one.name for one in fields(Task)]
    for wrong in sorted(set(study.arms[name].task) - set(known)):
        yield f"arms.{name}.task: {unknown('field', wrong, known)}"
    try:
        read_arm(study.settings_of(name), study.task_of(name))
    except UserError as error:
        yield f"arms.{name}: {error}"
    except ValidationError as error:
        yield f"arms.{name}.task: {describe_error(Task, error)}"


def _problems_of_claim(study: Study, claim: Claim) -> Iterator[str]:
    if claim.metric not in METRICS:
        yield str(unknown("metric", claim.metric, METRICS))
        return
    arms = [*claim.plus, *claim.minus, *([claim.knob.arm] if claim.knob else [])]
    unknown_arms = [arm for arm in arms if arm not in study.arms]
    for arm in unknown_arms:
        yield str(unknown("arm", arm, study.arms))
    if both := set(claim.plus) & set(claim.minus):
        yield f"{min(both)} is on both sides"
    if not claim.plus:
        yield "plus names no arm"
    if claim.minus and claim.than:
        yield "than is for claims without minus; remove one of them"
    if METRICS[claim.metric].needs_collapse and not claim.about_collapse:
        yield f"{claim.metric} is of collapsed runs; set about_collapse = true"
    sides = [] if unknown_arms else [*claim.plus, *claim.minus]
    tested = {study.task_of(arm).tested_board for arm in sides if claim.metric in HELD_OUT}
    for game, size in sorted(tested & FEW_BOARDS.keys()):
        yield (
            f"{game} {size}x{size} has {FEW_BOARDS[game, size]} held-out boards, too few for "
            f"{claim.metric}; use last, or a larger board"
        )
    fewest = min(map(study.iterations_of, sides), default=study.iterations)
    if claim.about_collapse and fewest < 2 * WINDOW:
        yield f"a collapse shows after two windows; set iterations to at least {2 * WINDOW}"
    if claim.metric == "collapse_time" and len({*map(study.iterations_of, sides)}) > 1:
        yield "collapse_time compares arms of equally many iterations"


def _problems_of_knob(knob: Knob | None) -> Iterator[str]:
    if knob is None:
        return
    if knob.curve not in CURVES:
        yield str(unknown("curve", knob.curve, CURVES))
    if knob.least is None and knob.most is None:
        yield "knob needs least or most"
    if knob.least is not None and knob.most is not None and knob.least > knob.most:
        yield f"knob: least is {knob.least:g}, above most, {knob.most:g}"
    high = 1.0 if knob.curve in _FRACTIONS else float("inf")
    if (knob.least or 0.0) > high or (knob.most is not None and knob.most < 0):
        yield f"knob: {knob.curve} is from 0 to {high:g}, so its bound cannot be met"
