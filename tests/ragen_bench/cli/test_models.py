"""`evaluate --models FILE`: each model in its own run, and one table of all."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.cli.evaluate import Evaluate
from ragen_bench.cli.evaluate_models import to_arguments
from ragen_bench.command_line import make_parser
from ragen_bench.settings.options import EvaluationOptions
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow

THREE = """\
[[model]]
name = "random"
seed = 3

[[model]]
name = "python:nowhere:answer"

[[model]]
name = "oracle"
"""
words = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=8)


@given(
    st.fixed_dictionaries(
        {"model": words.filter(lambda name: not name.startswith("-"))},
        optional={
            "suite": words,
            "env": st.lists(words, max_size=2).map(tuple),
            "split": words,
            "limit": st.integers(-5, 5),
            "temperature": st.floats(0, 2),
            "header": st.lists(words, max_size=2).map(tuple),
            "constrain": st.booleans(),
            "max_tokens": st.integers(1, 9),
        },
    )
)
def test_the_words_of_options_are_read_as_the_same_options(given_options):
    options = EvaluationOptions(**given_options)
    typed = to_arguments(options, Path("-run"), Path("prices.toml"))
    read = make_parser("ragen-bench", "", {"evaluate": Evaluate}).parse(typed)
    names = EvaluationOptions.__dataclass_fields__
    assert {name: getattr(read, name) for name in names} == vars(options)
    assert (read.out, read.prices) == (Path("-run"), Path("prices.toml"))


def test_one_that_fails_keeps_the_others_from_nothing(tmp_path):
    (tmp_path / "models.toml").write_text(THREE)
    options = shlex.split("--models models.toml --env Sokoban-v0 --limit 3")
    done = run("evaluate", *options, cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("Model ")] == [
        "Model 1 of 3: random",
        "Model 2 of 3: python:nowhere:answer",
        "Model 3 of 3: oracle",
    ]
    assert "python:nowhere:answer is not finished; the same command resumes it" in lines
    runs = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert runs == ["oracle_Sokoban-v0_test_seed0_limit3", "random_Sokoban-v0_test_seed3_limit3"]
    scores = {}
    for name in runs:
        summary = json.loads((tmp_path / "runs" / name / "summary.json").read_text())
        scores[summary["model"]] = 100 * summary["envs"][0]["success"]
    stripped = [line.strip() for line in lines]
    start = stripped.index("chosen environments, test split")
    table = [line.split()[:3] for line in lines[start:]]
    for model, success in scores.items():
        assert [model, "3", f"{success:.1f}"] in table


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "models.toml lists no models; write a [[model]] with a name for each"),
        ("model = 1", "models.toml lists no models"),
        ("model = [1]", "models.toml lists no models"),
        ("[[model]]\nname = 1", "models.toml, model 1: has no name, as name = "),
        ("[[model", "models.toml is not a TOML file: "),
        (
            '[[model]]\nname = "random"\nsed = 1',
            "model 1: unknown option 'sed'; did you mean seed?",
        ),
        (
            '[[model]]\nname = "random"\nseed = "x"',
            "model 1: seed: Input should be a valid integer",
        ),
        ('[[model]]\nname = "random"\n' * 2, "model 2: random is listed twice with the same opt"),
        ('[[model]]\nname = "random"\nsuite = "quick"', "give either --suite or --env, not both"),
        (
            '[[model]]\nname = "random"\nconcurrency = 2\n[[model]]\nname = "random"',
            "--concurrency",
        ),
    ],
)
def test_a_mistake_in_the_file_is_told_before_anything_is_played(tmp_path, content, says):
    (tmp_path / "models.toml").write_text(content)
    done = run("evaluate", "--models", "models.toml", "--env", "Bandit-v0", cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--models nowhere.toml", "nowhere.toml cannot be read: No such file or directory"),
        ("random --models x.toml", "MODEL does not go with --models, which names the models"),
        ("--models x.toml --out run", "--out does not go with --models"),
        ("--models x.toml --quiet", "--quiet does not go with --models"),
    ],
)
def test_what_does_not_go_with_a_file_is_refused(tmp_path, arguments, says):
    done = run("evaluate", *arguments.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
