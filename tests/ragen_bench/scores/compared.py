"""Runs that are compared, and their figures counted anew."""

import json
from collections import defaultdict
from dataclasses import replace
from statistics import fmean

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.models import resolve
from ragen_bench.runs.directory import read_run

BANDIT, SOKOBAN, LAKE = "ragen/Bandit-v0", "ragen/Sokoban-v0", "ragen/FrozenLake-v0"
BASE = Evaluation(
    model="random",
    suite="",
    instances={BANDIT: 12, SOKOBAN: 8, LAKE: 8},
    split="test",
    response_format="think",
    samples=2,
    seed=0,
    temperature=1.0,
    max_tokens=8,
)


def played(folder, **changes):
    evaluation = replace(BASE, **changes)
    play_run(evaluation, resolve(evaluation.model), folder).unlock()
    return read_run(folder)


def cut(run, lines):
    """Leave only the first lines of a run's episodes."""
    kept = run.episodes_file.read_text().splitlines(keepends=True)[:lines]
    run.episodes_file.write_text("".join(kept))


def means(run, figure):
    """Return the mean of each environment's instances, counted anew."""
    values = defaultdict(list)
    for line in run.episodes_file.read_text().splitlines():
        episode = json.loads(line)
        values[episode["env"], episode["index"]].append(episode[figure])
    return {key: fmean(map(float, each)) for key, each in values.items()}
