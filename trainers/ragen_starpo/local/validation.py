"""Held-out success, measured by the harness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.model import HFModel
from ragen_bench.models.prompt import History
from ragen_bench.models.reasoning import stop_text
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores.metrics import compute_metrics
from ragen_bench.suites import env_id, select
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.recipes.run_sections import ValidationSettings

_SLOTS = 64
_SMALLER = (
    f"begin another run with validation.every=0, or fewer than {_SLOTS} episodes of a validation "
    "(validation.instances); checkpoints are kept"
)


def validate(
    folder: Path,
    envs: Sequence[str],
    response_format: ResponseFormat,
    max_tokens: int,
    settings: ValidationSettings,
    history: History = None,
    day: str | None = None,
) -> dict[str, float]:
    """Return a model's metrics on the val split.

    Noise and sampling have seed 0, so that models are compared on the same episodes. `success`
    is the mean over environments; `NAME/success`, `NAME/low` and `NAME/high` are the success
    rate of each with its 95 % interval. `day` is the date that the chat template may write.
    """
    model = HFModel(str(folder), _SLOTS, advice=_SMALLER)
    if day is not None:
        model.set_day(day)
    stop = stop_text(response_format, constrain=False)
    sampling = Sampling(settings.temperature, max_tokens, stop, 0)
    instances = select(None, list(envs), settings.instances)
    tasks = tasks_of(instances, "val", 1)
    records = [
        played.record
        for played in play(tasks, model, sampling, response_format, history)
        if played.record is not None
    ]
    return held_out_metrics(records, envs)


def held_out_metrics(records: Sequence[EpisodeRecord], envs: Sequence[str]) -> dict[str, float]:
    """Return the metrics of held-out episodes of all environments, see `validate`."""
    env_metrics: dict[str, float] = {}
    rates = []
    for env in map(env_id, envs):
        scores = compute_metrics([record for record in records if record.env == env])
        rates.append(scores["success"])
        name = env.partition("/")[2]
        low, high = scores["success_interval"]
        env_metrics |= {f"{name}/success": rates[-1], f"{name}/low": low, f"{name}/high": high}
    return {"success": sum_in_order(rates) / len(rates), **env_metrics}
