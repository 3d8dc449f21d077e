"""An evaluation of its options: the order in which mistakes are reported."""

import pytest

from ragen_bench.errors import UserError
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"history": "all"}, "--history must be full, none or"),
        ({"isolate": True}, "--isolate: for python: only"),
        ({"timeout": 3.0}, "--timeout: for "),
        ({"opponent_format": "plain"}, "--opponent-format goes with"),
        ({"opponent_thinking_marks": "kimi"}, "--opponent-thinking-marks goes with"),
        ({}, "missing.json"),
    ],
)
def test_the_file_of_the_draw_is_read_last(tmp_path, options, says):
    given = {"split": "drawn", "draw": tmp_path / "missing.json", "env": ("Bandit-v0",), **options}
    with pytest.raises(UserError, match=says):
        build_evaluation(EvaluationOptions(model="random", **given))
