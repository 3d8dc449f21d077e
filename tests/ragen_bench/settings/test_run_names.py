"""Where a run goes when nobody says where."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.cli.main import parser
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.run_names import default_path

pytestmark = pytest.mark.slow

CHANGES = {
    "--samples": ["1", "4"],
    "--limit": ["8", "31", "256"],
    "--temperature": ["0.5", "0", "0.7", "1"],
    "--format": ["think", "answer", "plain"],
    "--history": ["full", "none", "2"],
    "--max-tokens": ["64", "200", "100"],
    "--split": ["test", "val"],
    "--seed": ["0", "3"],
    "--suite": ["quick", "core"],
}


def made(*arguments):
    return build_evaluation(parser().parse(["evaluate", *arguments]))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("random", "random_core_test_seed0"),
        ("random --suite quick --seed 2 --max-tokens 64", "random_quick_test_seed2"),
        ("hf//my/model --env Sokoban-v0 --split val", "hf--my-model_Sokoban-v0_val_seed0"),
        (
            "random --samples 4 --temperature 0.7 --format answer --limit 8",
            "random_core_test_seed0_samples4_t0.7_answer_limit8",
        ),
        (
            "gguf/m --history none --constrain --max-tokens 64 --temperature 0",
            "gguf-m_core_test_seed0_t0_history0_constrained_tokens64",
        ),
        ("hf/x --concurrency 4", "hf-x_core_test_seed0_concurrency4"),
        ("openai/x --concurrency 4", "openai-x_core_test_seed0"),
        ("random --suite quick --limit 32", "random_quick_test_seed0"),
        ("random --suite quick --limit 16", "random_quick_test_seed0_limit16"),
    ],
)
def test_settings_that_are_not_the_default_are_in_the_name(arguments, name):
    assert default_path(made(*arguments.split())) == Path("runs") / name


choices = st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in CHANGES.items()})


@given(choices, choices)
def test_two_runs_share_a_name_only_if_one_may_resume_the_other(first, second):
    runs = [made("random", *(f"{k}={v}" for k, v in each.items())) for each in (first, second)]
    assert (default_path(runs[0]) == default_path(runs[1])) == (runs[0] == runs[1])
