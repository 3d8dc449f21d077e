"""What is told of a run, and of an interruption."""

import pytest

from ragen_starpo.cli import main
from ragen_starpo.cli.console import models, validated

COMMANDS = {
    "local": ("local", "small", "--out", "run"),
    "verl": ("verl", "small", "--out", "run"),
    "demo": ("demo", "--out", "demo"),
    "report": ("report", "run"),
    "recipes": ("recipes",),
    "warm_start": ("warm-start", "small", "--out", "warm", "--env", "Bandit-v0"),
    "small_model": ("small-model", "small"),
}


def test_only_models_that_are_there_are_named(tmp_path):
    (tmp_path / "final").mkdir()
    assert models(tmp_path) == str(tmp_path / "final")
    (tmp_path / "best").mkdir()
    assert models(tmp_path) == f"{tmp_path / 'best'}, {tmp_path / 'final'}"


def test_iterations_count_from_0():
    assert validated(0, 0.25) == "Iteration 0: held-out success 0.250"


@pytest.mark.parametrize("module", COMMANDS)
def test_an_interruption_promises_what_is_so(module, monkeypatch, capsys):
    def interrupted(given):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"ragen_starpo.cli.{module}.run_{module}", interrupted)
    assert main(COMMANDS[module]) == 130
    goes_on = "; the same command goes on from the latest checkpoint"
    resumes = module in ("local", "verl", "demo")
    said = f"\nragen-train: interrupted{goes_on if resumes else ''}\n"
    assert capsys.readouterr().err == said
