"""`--json`: standard output is one document and nothing else."""

import json
import math
import os
from pathlib import Path

import pexpect
import pytest

from ragen_bench.cli.shared_options import JsonOptions
from ragen_envs.registration import IDS

from .command import COMMAND, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("json")]  # its runs are made once


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for model in ("oracle", "random"):
        done = run(
            "evaluate", model, "--env", "Bandit-v0", "--limit", "2", "--out", model, cwd=folder
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("list --json", "suites"),
        ("describe --json Bandit-v0", "specification"),
        ("describe Bandit-v0 --json -", "specification"),
        ("doctor random --env Bandit-v0 --limit 2 --json", "findings"),
        ("analyse --json random", "envs"),
        ("compare --json oracle random", "envs"),
        ("audit --json Bandit-v0 --levels 2", "environments"),
        ("evaluate --json random --env Bandit-v0 --limit 2 --out random", "suite_score_interval"),
        ("report random --json --confidence 90", "success"),
        ("annotate random --agreement --json", "questions"),
        ("export oracle --as atif --env Bandit-v0 --limit 2 --out exported --json", "episodes"),
    ],
)
def test_it_prints_a_document_and_nothing_else(runs, line, holds):
    done = run(*line.split(), cwd=runs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == 1
    assert found[holds]


def test_the_document_says_what_the_text_says(runs):
    found = json.loads(run("list", "--json", cwd=runs).stdout)
    assert list(found["environments"]) == list(IDS)
    described = json.loads(run("describe", "--json", "Bandit-v0", cwd=runs).stdout)
    text = run("describe", "Bandit-v0", cwd=runs).stdout
    for key in ("env", "documentation", "specification", "first_observation"):
        assert described[key] in text


def test_the_document_of_a_run_is_its_summary(runs):
    summary = json.loads((runs / "oracle/summary.json").read_text())
    places = {"run": "oracle", "report": "oracle/report.html"}
    found = json.loads(run("report", "oracle", "--json", cwd=runs).stdout)
    assert found == {"schema": 1, **places, **summary}
    (runs / "models.toml").write_text('[[model]]\nname = "oracle"\n')
    line = "evaluate --models models.toml --env Bandit-v0 --limit 2 --json"
    [first] = json.loads(run(*line.split(), cwd=runs).stdout)["runs"]
    assert (first["model"], first["exit_code"]) == ("oracle", 0)
    assert first["summary"]["suite_score"] == summary["suite_score"]


def test_json_of_a_rating_is_refused(runs):
    done = run("annotate", "oracle", "--rater", "me", "--json", cwd=runs)
    assert done.returncode == 2
    assert "--json goes with --agreement; add it, or remove --json" in done.stderr
    done = run("replay", "oracle", "--json", cwd=runs)
    assert "unrecognized arguments: --json (try" in done.stderr


def test_what_prints_meanwhile_goes_to_standard_error_and_the_exit_code_stays(runs):
    (runs / "loud.py").write_text(
        "import os\nos.write(1, b'from C\\n')\nprint('from Python')\n"
        "def answer(messages):\n    return ''\n"
    )
    done = run(
        *("doctor", "python:loud:answer", "--env", "Bandit-v0", "--limit", "2", "--json"), cwd=runs
    )
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["failed"] is True
    assert [look["status"] for look in found["findings"]].count("FAIL") == 1
    assert "from C\n" in done.stderr
    assert "from Python\n" in done.stderr


def test_a_file_is_named_by_its_end_or_an_equals_sign(runs):
    for word, name in ((["--json", "a.json"], "a.json"), (["--json=a.txt"], "a.txt")):
        done = run("compare", "oracle", "random", *word, cwd=runs)
        assert done.stdout.endswith(f"JSON  {name}\n")
        assert json.loads((runs / name).read_text())["envs"][0]["env"] == "ragen/Bandit-v0"


def test_a_quiet_evaluation_prints_its_directory_alone(runs):
    line = "evaluate random --env Bandit-v0 --limit 2 --quiet --out quiet"
    for _ in range(2):
        done = run(*line.split(), cwd=runs)
        assert (done.returncode, done.stdout, done.stderr) == (0, "quiet\n", "")
    assert (runs / "quiet/report.html").is_file()


def test_an_error_leaves_standard_output_empty(runs):
    done = run("compare", "oracle", "nowhere", "--json", cwd=runs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ragen-bench: nowhere")
    refused = run("leaderboard", "check", "a", "b", "--json", cwd=runs)
    assert refused.returncode == 2
    assert refused.stdout == ""


def test_a_terminal_gets_the_specification_rendered(runs):
    plain = run("describe", "Bandit-v0", cwd=runs).stdout
    shown = pexpect.run(
        " ".join([*COMMAND, "describe", "Bandit-v0"]),
        cwd=str(runs),
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    )
    assert "`" in plain
    assert "`" not in shown
    assert "\x1b[" in shown
    assert "\x1b" not in plain


def test_what_is_no_number_in_json_is_null(capsys):
    with JsonOptions(json=Path("-")).output() as found:
        found.update(rows=[{"share": math.nan}, (math.inf, 0.5)], low=-math.inf, none=None)

    def refuse(constant):
        raise AssertionError(constant)

    document = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert document["rows"] == [{"share": None}, [None, 0.5]]
    assert (document["low"], document["none"], document["schema"]) == (None, None, 1)
