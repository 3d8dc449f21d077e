"""The scorer: what became of an episode, from what the solver left."""

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
from ragen_bench.inspect.solving import STORED
from ragen_envs.core.wording import pluralize


@scorer(
    metrics={
        "success": [grouped(mean(), "env", all=False)],
        "score": [normalised(), normalised_low(), normalised_high(), episodes_mean()],
        "return": [episodes_mean()],
    }
)
def figures_of_episode() -> Scorer:
    """Tell success, score and return of an episode; what an environment does not tell is NaN."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (Inspect's)
        told = state.store.get(STORED)
        values = {name: told[name] for name in ("success", "score", "return")}
        return Score(
            value={name: nan if value is None else float(value) for name, value in values.items()},
            answer=state.output.completion,
            explanation=f"{told['outcome']} in {pluralize(len(told['rewards']), 'turn')}",
            metadata=told,
        )

    return score
