"""RowTokens-out success, measured by the harness as it measures any model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.model import HFModel
from ragen_bench.models.prompt import History
from ragen_bench.models.reasoning import stop_text
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores.metrics import figures
from ragen_bench.suites import env_id, select
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.recipes.sections import ValidationSettings

_SLOTS = 64


def validate(
    folder: Path,
    envs: Sequence[str],
    response_format: ResponseFormat,
    max_tokens: int,
    settings: ValidationSettings,
    history: History = None,
) -> dict[str, float]:
    """Return a model's figures on the val split.

    Args:
        folder: that transformers reads.
        envs: ids.
        response_format: of the answers.
        max_tokens: of an answer.
        settings: how many instances, and the temperature. Noise and sampling are those of seed 0,
            so that two models meet the same.
        history: past turns that the model is shown.

    Returns:
        `success`, the mean over environments; and `NAME/success`, `NAME/low`, `NAME/high`, the
        share of each with its 95 % interval.
    """
    model = HFModel(str(folder), _SLOTS)
    stop = stop_text(response_format, constrain=False)
    sampling = Sampling(settings.temperature, max_tokens, stop, 0)
    instances = select(None, list(envs), settings.instances)
    tasks = tasks_of(instances, "val", 1)
    records = [
        played.record
        for played in play(tasks, model, sampling, response_format, history)
        if played.record is not None
    ]
    return held_out(records, envs)


def held_out(records: Sequence[EpisodeRecord], envs: Sequence[str]) -> dict[str, float]:
    """Return the figures of held-out episodes, see `validate`.

    Args:
        records: of all environments.
        envs: their ids.
    """
    of_envs: dict[str, float] = {}
    shares = []
    for env in map(env_id, envs):
        of_env = figures([record for record in records if record.env == env])
        shares.append(of_env["success"])
        name = env.partition("/")[2]
        low, high = of_env["success_interval"]
        of_envs |= {f"{name}/success": shares[-1], f"{name}/low": low, f"{name}/high": high}
    return {"success": sum_in_order(shares) / len(shares), **of_envs}
