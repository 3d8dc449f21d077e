"""What is told of a run, and of an interruption."""

import pytest

from ragen_bench.console.plain import plain_console
from ragen_starpo.cli import main
from ragen_starpo.cli.main import COMMANDS
from ragen_starpo.console.progress import print_places, validation_line

LINES = {
    "local": ("local", "small", "--out", "run"),
    "verl": ("verl", "small", "--out", "run"),
    "demo": ("demo", "--out", "demo"),
    "report": ("report", "run"),
    "recipes": ("recipes",),
    "warm-start": ("warm-start", "small", "--out", "warm", "--env", "Bandit-v0"),
    "small-model": ("small-model", "small"),
}


def test_only_models_that_are_there_are_named(tmp_path, capsys):
    (tmp_path / "final").mkdir()
    print_places(plain_console(), tmp_path)
    assert capsys.readouterr().out == f"Run     {tmp_path}\nModels  {tmp_path / 'final'}\n"
    (tmp_path / "best").mkdir()
    print_places(plain_console(), tmp_path)
    assert f"Models  {tmp_path / 'best'}, {tmp_path / 'final'}\n" in capsys.readouterr().out


def test_iterations_count_from_0():
    assert validation_line(0, 0.25) == "Iteration 0: held-out success 0.250"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interruption_promises_what_is_so(command, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(COMMANDS[command], "run", interrupted)
    assert main(LINES[command]) == 130
    goes_on = "; the same command goes on from the latest checkpoint"
    resumes = command in ("local", "verl", "demo")
    said = f"\nragen-train: interrupted{goes_on if resumes else ''}\n"
    assert capsys.readouterr().err == said
