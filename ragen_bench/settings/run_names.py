"""The default run directory, whose name lists the settings of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models import find_provider
from ragen_bench.suites import Suite, find_suite, held_out_size

DEFAULT_TEMPERATURE = 0.5
DEFAULT_MAX_TOKENS = 200
"""Tokens per response where no suite sets a limit."""


def default_path(evaluation: Evaluation) -> Path:
    """Return the default run directory, unique for the model and all settings."""
    names = (_slug(env.rpartition("/")[2]) for env in evaluation.instances)
    scope = evaluation.suite or "+".join(names)
    first = [_slug(evaluation.model), scope, evaluation.split, f"seed{evaluation.seed}"]
    return Path("runs") / "_".join([*first, *_name_settings(evaluation)])


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name).strip("-.")


def _name_settings(evaluation: Evaluation) -> Iterator[str]:
    """Yield a short name of each setting that is not the default."""
    suite = find_suite(evaluation.suite) if evaluation.suite else None
    if evaluation.draw:
        yield f"draw-{evaluation.draw.value[:8]}"
    yield from _name_other_players(evaluation)
    if evaluation.samples != 1:
        yield f"samples{evaluation.samples}"
    if evaluation.temperature != DEFAULT_TEMPERATURE:
        yield f"t{evaluation.temperature!r}".removesuffix(".0")
    if evaluation.top_p != 1:
        yield f"p{evaluation.top_p!r}"
    if evaluation.response_format != "think":
        yield evaluation.response_format
    if evaluation.history is not None:
        yield f"history{evaluation.history}"
    if evaluation.constrain:
        yield "constrained"
    if evaluation.pictures:
        yield "pictures"
    yield from _name_model_options(evaluation)
    yield from _name_scope(evaluation, suite)
    # Other models may resume a run with another concurrency.
    for side in (evaluation, evaluation.opponent):
        if side and side.server and find_provider(side.model).batched:
            yield f"concurrency{side.server.concurrency}"
            return


def _name_model_options(evaluation: Evaluation) -> Iterator[str]:
    if marks := evaluation.thinking_marks:
        yield f"marks-{_name_marks(marks)}"
    if evaluation.server and evaluation.server.extra_body:
        yield f"body-{hashlib.sha256(evaluation.server.extra_body.encode()).hexdigest()[:8]}"


def _name_marks(marks: str) -> str:
    return _slug(marks) or hashlib.sha256(marks.encode()).hexdigest()[:8]


def _name_other_players(evaluation: Evaluation) -> Iterator[str]:
    if opponent := evaluation.opponent:
        yield f"vs-{_slug(opponent.model)}"
        if opponent.response_format != evaluation.response_format:
            yield f"vs-{opponent.response_format}"
        if opponent.thinking_marks:
            yield f"vs-marks-{_name_marks(opponent.thinking_marks)}"
    if evaluation.random_player:
        yield f"random-{_slug(evaluation.random_player.name)}"


def _name_scope(evaluation: Evaluation, suite: Suite | None) -> Iterator[str]:
    """Yield a short name of a token limit, and of a number of instances, that differ."""
    if evaluation.max_tokens != (suite.max_tokens if suite else DEFAULT_MAX_TOKENS):
        yield f"tokens{evaluation.max_tokens}"
    whole = suite.instances if suite else {env: held_out_size(env) for env in evaluation.instances}
    if evaluation.instances != whole:
        yield f"limit{max(evaluation.instances.values())}"
