"""What is told of a run, and of an interruption."""

import json
from contextlib import nullcontext

import pytest

from ragen_bench.console.plain import plain_console
from ragen_bench.errors import UserError
from ragen_starpo.cli import main
from ragen_starpo.cli.main import COMMANDS
from ragen_starpo.console.following import follow, print_places

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
}


def test_only_models_that_are_there_are_named(tmp_path, capsys):
    (tmp_path / "final").mkdir()
    print_places(plain_console(), tmp_path)
    assert capsys.readouterr().out == f"Run     {tmp_path}\nModels  {tmp_path / 'final'}\n"
    (tmp_path / "best").mkdir()
    print_places(plain_console(), tmp_path)
    assert f"Models  {tmp_path / 'best'}, {tmp_path / 'final'}\n" in capsys.readouterr().out


def test_what_is_told_while_a_run_is_trained(tmp_path, capsys):
    lines = {
        "metrics": {
            "rollout/success": 0.5,
            "rollout/reward": 1.25,
            "rollout/failed": 2,
            "rollout/begun_anew": 3,
            "val/success": 0.25,
        },
        "failures": {"groups": 2, "error": "OSError: [Errno 5] gone"},
        "warnings": {"text": "Early warning in iteration 0."},
        "timings": {"updates": 1.5},
    }
    with follow("small", 1, tmp_path):
        for name, line in lines.items():
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"iteration": 0, **line}) + "\n")
    said = capsys.readouterr().out
    assert "Iteration 0: held-out success 0.250\n" in said
    assert "Early warning in iteration 0.\n" in said
    assert "success 0.500 reward 1.25 failed 2 begun anew 3" in said
    told = "Iteration 0: groups left out for episodes that ended in errors: 2; "
    assert f"{told}the first error: OSError: [Errno 5] gone\n" in said


def test_a_run_goes_on_with_the_bar_where_its_checkpoint_is(tmp_path, capsys):
    (tmp_path / "checkpoints" / "iteration_000002").mkdir(parents=True)
    with follow("small", 3, tmp_path):
        pass
    assert " 2/3 " in capsys.readouterr().out


class Kept(nullcontext):
    """Is told figures; fails at the iteration `last`."""

    def __init__(self, last):
        super().__init__()
        self.last, self.numbers = last, []

    def write(self, number, figures):
        if number == self.last:
            raise UserError("[the service] is gone")
        self.numbers.append((number, figures))


def test_a_failure_of_one_that_is_told_leaves_the_others(tmp_path, capsys):
    gone, stays = Kept(1), Kept(None)
    (tmp_path / "final").mkdir()
    figures = {"rollout/success": 0.5, "rollout/reward": 1.25}
    numbered = [json.dumps({"iteration": n, **figures}) + "\n" for n in range(3)]
    failure = pytest.raises(UserError, match="not all figures were told, see above")
    with failure as raised, follow("small", 3, tmp_path, (gone, stays)):
        for name in ("metrics", "timings"):
            (tmp_path / f"{name}.jsonl").write_text("".join(numbered))
    assert raised.value.exit_code == 1
    assert gone.numbers == [(0, figures | {f"seconds/{name}": figures[name] for name in figures})]
    assert [number for number, _ in stays.numbers] == [0, 1, 2]
    said = capsys.readouterr().out
    assert said.count("[the service] is gone\n") == 1
    assert said.endswith(f"Models  {tmp_path / 'final'}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interruption_promises_what_is_so(command, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(COMMANDS[command], "run", interrupted)
    assert main(LINES[command]) == 130
    goes_on = "; the same command goes on from the latest checkpoint"
    resumes = command in ("local", "verl", "demo", "study")
    said = f"\nragen-train: interrupted{goes_on if resumes else ''}\n"
    assert capsys.readouterr().err == said
