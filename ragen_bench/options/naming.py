"""The default run directory, named for the settings of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models import find_provider
from ragen_bench.suites import SUITES, Suite, held_out_size

DEFAULT_TEMPERATURE = 0.5
DEFAULT_MAX_TOKENS = 200
"""The limit of an answer where no suite sets one."""


def default_path(evaluation: Evaluation) -> Path:
    """Return a directory that the same command finds again, and that no other settings share.

    It is named for model, suite or environments, split and seed, and for every setting that is not
    the default one.
    """
    names = (_plain(env.rpartition("/")[2]) for env in evaluation.instances)
    what = evaluation.suite or "+".join(names)
    first = [_plain(evaluation.model), what, evaluation.split, f"seed{evaluation.seed}"]
    return Path("runs") / "_".join([*first, *_unusual(evaluation)])


def _plain(model: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in model).strip("-.")


def _unusual(evaluation: Evaluation) -> Iterator[str]:
    """Yield a short name of each setting that is not the default one."""
    suite = SUITES[evaluation.suite] if evaluation.suite else None
    if evaluation.draw:
        yield f"draw-{evaluation.draw.value[:8]}"
    yield from _others(evaluation)
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
    if evaluation.server and evaluation.server.extra_body:
        yield f"body-{hashlib.sha256(evaluation.server.extra_body.encode()).hexdigest()[:8]}"
    yield from _unusual_scope(evaluation, suite)
    # Elsewhere a run may go on with another number.
    for side in (evaluation, evaluation.opponent):
        if side and side.server and find_provider(side.model).batched:
            yield f"concurrency{side.server.concurrency}"
            return


def _others(evaluation: Evaluation) -> Iterator[str]:
    """Yield a short name of who else plays: an opponent, and a random player that was named."""
    if opponent := evaluation.opponent:
        yield f"vs-{_plain(opponent.model)}"
        if opponent.response_format != evaluation.response_format:
            yield f"vs-{opponent.response_format}"
    if evaluation.random_player:
        yield f"random-{_plain(evaluation.random_player.name)}"


def _unusual_scope(evaluation: Evaluation, suite: Suite | None) -> Iterator[str]:
    """Yield a short name of another token limit, and of fewer instances, than the default."""
    if evaluation.max_tokens != (suite.max_tokens if suite else DEFAULT_MAX_TOKENS):
        yield f"tokens{evaluation.max_tokens}"
    whole = suite.instances if suite else {env: held_out_size(env) for env in evaluation.instances}
    if evaluation.instances != whole:
        yield f"limit{max(evaluation.instances.values())}"
