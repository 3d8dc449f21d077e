"""The scorer, which reads an episode's result from the solver's store."""

from __future__ import annotations

from math import nan

from inspect_ai.scorer import Score, Scorer, Target, grouped, mean, scorer
from inspect_ai.solver import TaskState

from ragen_bench.inspect.figures import (
    episodes_mean,
    normalised,
    normalised_high,
    normalised_low,
)
from ragen_bench.inspect.solving import STORE_KEY
from ragen_envs.core.wording import pluralize


@scorer(
    metrics={
        "success": [grouped(mean(), "env", all=False)],
        "score": [normalised(), normalised_low(), normalised_high(), episodes_mean()],
        "return": [episodes_mean()],
    }
)
def figures_of_episode() -> Scorer:
    """Score an episode by success, score and return; an unknown value is NaN."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (signature of Inspect)
        result = state.store.get(STORE_KEY)
        values = {name: result[name] for name in ("success", "score", "return")}
        return Score(
            value={name: nan if value is None else float(value) for name, value in values.items()},
            answer=state.output.completion,
            explanation=f"{result['outcome']} in {pluralize(len(result['rewards']), 'turn')}",
            metadata=result,
        )

    return score
