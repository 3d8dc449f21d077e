"""The output of a training command: progress, trackers, and interruptions."""

import json
import logging
from contextlib import nullcontext

import pytest

from ragen_bench.errors import UserError
from ragen_bench.terminal.console import plain_console
from ragen_starpo.cli import main
from ragen_starpo.cli.main import COMMANDS
from ragen_starpo.cli.training import print_places, print_progress
from ragen_starpo.local.untrained import NO_STEPS

LINES = {
    "local": ("local", "small", "--out", "run"),
    "verl": ("verl", "small", "--out", "run"),
    "demo": ("demo", "--out", "demo"),
    "report": ("report", "run"),
    "recipes": ("recipes",),
    "warm-start": ("warm-start", "small", "--out", "warm", "--env", "Bandit-v0"),
    "small-model": ("small-model", "small"),
    "study": ("study", "filter", "--out", "study"),
    "studies": ("studies",),
    "credit": ("credit", "lake-3"),
}


def test_only_existing_models_are_printed(tmp_path, capsys):
    (tmp_path / "final").mkdir()
    print_places(plain_console(), tmp_path)
    assert capsys.readouterr().out == f"Run     {tmp_path}\nModels  {tmp_path / 'final'}\n"
    (tmp_path / "best").mkdir()
    print_places(plain_console(), tmp_path)
    assert f"Models  {tmp_path / 'best'}, {tmp_path / 'final'}\n" in capsys.readouterr().out


@pytest.mark.parametrize(("kept", "says"), [((0, 0), True), ((0, 0.25), False), ((), False)])
def test_a_run_that_took_no_step_ends_with_a_line(tmp_path, capsys, kept, says):
    lines = "".join(json.dumps({"filter/kept": fraction}) + "\n" for fraction in kept)
    (tmp_path / "metrics.jsonl").write_text(lines)
    print_places(plain_console(), tmp_path)
    assert capsys.readouterr().out.endswith(f"{NO_STEPS}\n") is says


def test_progress_of_a_run_is_printed(tmp_path, capsys):
    lines = {
        "metrics": {
            "rollout/success": 0.5,
            "rollout/reward": 1.25,
            "rollout/failed": 2,
            "rollout/begun_anew": 3,
            "val/success": 0.25,
            "filter/kept": 0.5,
        },
        "failures": {"groups": 2, "error": "OSError: [Errno 5] gone"},
        "warnings": {"text": "Early warning in iteration 0."},
        "timings": {"updates": 1.5},
    }
    with print_progress("small", 1, tmp_path):
        for name, line in lines.items():
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"iteration": 0, **line}) + "\n")
    said = capsys.readouterr().out
    assert "Iteration 0: held-out success 0.250\n" in said
    assert "Early warning in iteration 0.\n" in said
    assert "success 0.500 reward 1.25 failed 2 restarted 3" in said
    failed = "Iteration 0: 2 groups were skipped because of failed episodes; "
    assert f"{failed}the first error: OSError: [Errno 5] gone\n" in said


def test_the_bar_of_a_resumed_run_begins_at_its_checkpoint(tmp_path, capsys):
    (tmp_path / "checkpoints" / "iteration_000002").mkdir(parents=True)
    with print_progress("small", 3, tmp_path):
        pass
    assert " 2/3 " in capsys.readouterr().out


def test_only_the_warning_that_the_record_repeats_is_hidden_and_only_meanwhile(tmp_path, caplog):
    loggers = [logging.getLogger(f"ragen_starpo.{name}") for name in ("memory", "devices")]
    with print_progress("small", 3, tmp_path):
        for logger in loggers:
            logger.warning("said by %s", logger.name)
    assert caplog.messages == ["said by ragen_starpo.devices"]
    loggers[0].warning("again")
    assert caplog.messages[1:] == ["again"]


class ListTracker(nullcontext):
    """Keeps metrics in a list; fails at the iteration `last`."""

    def __init__(self, last):
        super().__init__()
        self.last, self.numbers = last, []

    def write(self, number, metrics):
        if number == self.last:
            raise UserError("[the service] is gone")
        self.numbers.append((number, metrics))


def test_a_failed_tracker_does_not_affect_the_others(tmp_path, capsys):
    gone, stays = ListTracker(1), ListTracker(None)
    (tmp_path / "final").mkdir()
    metrics = {"rollout/success": 0.5, "rollout/reward": 1.25, "filter/kept": 1.0}
    numbered = [json.dumps({"iteration": n, **metrics}) + "\n" for n in range(3)]
    failure = pytest.raises(UserError, match="not all metrics were logged, see above")
    with failure as raised, print_progress("small", 3, tmp_path, (gone, stays)):
        for name in ("metrics", "timings"):
            (tmp_path / f"{name}.jsonl").write_text("".join(numbered))
    assert raised.value.exit_code == 1
    assert gone.numbers == [(0, metrics | {f"seconds/{name}": metrics[name] for name in metrics})]
    assert [number for number, _ in stays.numbers] == [0, 1, 2]
    said = capsys.readouterr().out
    assert said.count("[the service] is gone\n") == 1
    assert said.endswith(f"Models  {tmp_path / 'final'}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interruption_says_whether_the_command_resumes(command, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(COMMANDS[command], "run", interrupted)
    assert main(LINES[command]) == 130
    goes_on = "; the same command goes on with what it has stored"
    resumes = command in ("local", "verl", "demo", "study")
    said = f"\nragen-train: interrupted{goes_on if resumes else ''}\n"
    assert capsys.readouterr().err == said
