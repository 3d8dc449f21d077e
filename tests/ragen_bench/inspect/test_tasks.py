"""The tasks: samples, epochs and settings, and mistakes in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import list_tasks
from inspect_ai._util.error import PrerequisiteError

from ragen_bench.inspect import core, core_2, envs, full, quick, tasks
from ragen_bench.suites import SUITES


@pytest.mark.parametrize(
    ("make", "suite"), [(quick, "quick"), (core, "core"), (core_2, "core-2"), (full, "full")]
)
def test_a_suite_has_a_sample_for_each_instance(make, suite):
    task = make()
    assert [(s.metadata["env"], s.metadata["seed"]) for s in task.dataset] == [
        (env, seed) for env, count in SUITES[suite].instances.items() for seed in range(count)
    ]
    assert {s.metadata["split"] for s in task.dataset} == {"test"}
    assert len({s.id for s in task.dataset}) == len(task.dataset)
    assert (task.version, task.config.max_tokens) == (
        SUITES[suite].version,
        SUITES[suite].max_tokens,
    )


def test_settings_reach_the_samples():
    task = envs("Sokoban-v0", split="val", limit=2, samples=6, format="answer")
    assert [s.metadata for s in task.dataset] == [
        {
            "env": "ragen/Sokoban-v0",
            "seed": seed,
            "split": "val",
            "response_format": "answer",
            "environments": 1,
        }
        for seed in (0, 1)
    ]
    assert task.epochs == 6
    assert len(task.epochs_reducer) == len(["mean", "pass_at_1", "pass_at_2", "pass_at_4"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: envs("Sokobann-v0"), "unknown environment 'Sokobann-v0'; did you mean"),
        (lambda: envs([]), "env is empty; name one or several environments"),
        (lambda: quick(split="tset"), "unknown split 'tset'; did you mean test?"),
        (lambda: quick(format="tags"), "unknown format 'tags'; choose one of"),
        (lambda: quick(format="tools"), "choose one of: think, answer, plain"),
        (lambda: quick(limit="all"), "limit: Input should be a valid integer"),
        (lambda: quick(samples=0), "--samples must be at least 1, got 0"),
        (lambda: quick(history="some"), "--history must be full, none or a number of turns"),
        (lambda: quick(split="sealed"), "RAGEN_SEALED_KEY"),
        (lambda: envs("no_such_module:A-v0"), "no_such_module"),
        (lambda: envs("TwentyQuestionsModel-v0"), "ragen-bench evaluate MODEL"),
    ],
)
def test_a_mistake_is_one_line(make, message, monkeypatch):
    monkeypatch.delenv("RAGEN_SEALED_KEY", raising=False)
    monkeypatch.delenv("RAGEN_SEALED_KEY_FILE", raising=False)
    with pytest.raises(PrerequisiteError) as refused:
        make()
    assert message in refused.value.message
    assert "\n" not in refused.value.message


def test_the_harness_does_without_it_and_a_missing_package_is_named_in_one_line():
    code = (
        "import sys; sys.modules['inspect_ai'] = None; import ragen_bench.cli.main, "
        "ragen_bench.episodes.evaluation; import ragen_bench.inspect"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(
        "this needs inspect_ai: in a checkout pip install '.[inspect]' "
        "(after the first release: pip install 'ragen-bench[inspect]')"
    )


def test_inspect_lists_the_tasks():
    file = Path(tasks.__file__)
    found = list_tasks(file.name, root_dir=file.parent)
    assert {one.name for one in found} == {*SUITES, "envs"}
