"""A scorer that keeps an agent where its caller says, on sealed too: `scorer.py KIND NAME OUT`."""

import sys
from dataclasses import replace
from pathlib import Path

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.opponents.opponent import load
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions


def main(kind, name, out):
    options = EvaluationOptions(model=name, env=("Sokoban-v0",), split="sealed", limit=6)
    evaluation = build_evaluation(options)
    assert evaluation.isolation.level == "sandbox"
    where = replace(evaluation.isolation, level=kind)
    model = load(evaluation.model, None, None, isolation=where)
    play_run(evaluation, model, Path(out)).unlock()


if __name__ == "__main__":
    main(*sys.argv[1:])
