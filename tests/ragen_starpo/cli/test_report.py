"""Warnings on the console, event files and the report, as their user asks for them."""

import json

import pytest

from ragen_starpo.cli import main
from ragen_starpo.small_model import Shape, make_small_model
from tests.ragen_starpo.cli.test_weights_and_biases import told
from tests.ragen_starpo.local.test_warnings import SETTINGS
from tests.ragen_starpo.report.runs import make_run

from .test_main import typed

TOLD = ("--tensorboard", "--wandb")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]
RECIPE = """
model = "small"
envs = ["FrozenLake-v0"]
response_format = "answer"
iterations = 7
checkpoint_every = 0
"""


def test_a_run_that_warns(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "offline")
    make_small_model(tmp_path / "small", Shape(width=32, layers=2, hidden=48), 0)
    capsys.readouterr()  # what transformers said of the model's files
    tables = ("rollouts", "advantage", "filter", "loss", "optimiser", "validation", "monitor")
    settings = [
        f"{table}.{name}={json.dumps(value)}"
        for table in tables
        for name, value in SETTINGS[table].items()
    ]
    (tmp_path / "r.toml").write_text(RECIPE)
    code, out, err = typed(tmp_path, "local", "r.toml", *settings, "--out", "run", *TOLD)
    assert (code, err) == (0, "")
    warnings = [json.loads(one)["text"] for one in (tmp_path / "run/warnings.jsonl").open()]
    assert warnings
    assert [line for line in out.splitlines() if line in warnings] == warnings
    (events,) = (tmp_path / "run/tensorboard").iterdir()
    assert events.stat().st_size > 1000
    figures, *_ = told(tmp_path / "run")
    metrics = [json.loads(one) for one in (tmp_path / "run/metrics.jsonl").open()]
    timings = [json.loads(one) for one in (tmp_path / "run/timings.jsonl").open()]
    for number, line, timing in zip(range(7), metrics, timings, strict=True):
        seconds = {f"seconds/{name}": taken for name, taken in timing.items()}
        del line["iteration"], seconds["seconds/iteration"]
        assert figures[number] == pytest.approx({"_step": number, **line, **seconds})
    monkeypatch.chdir(tmp_path)
    assert main(["report", "run"]) == 0
    assert capsys.readouterr() == ("Report  run/report.html\n", "")
    assert all(text in (tmp_path / "run/report.html").read_text() for text in warnings)


def test_the_report_needs_no_model(tmp_path, capsys):
    run = make_run(tmp_path / "run")
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").is_file()
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a training run: it has no recipe.json" in capsys.readouterr().err
