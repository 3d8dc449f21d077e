"""`audit --certificate` and `--question` as their user types them."""

import json

import pytest

from ragen_bench.cli import main


def test_one_question(tmp_path, capsys):
    file = tmp_path / "one.json"
    words = ["ragen/Bandit-v0", "--question", "semantic.floor_gap", "--episodes", "50"]
    assert main(["audit", *words, "--certificate", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "passed    semantic.floor_gap  Is doing nothing worth much less than the best?" in shown
    assert "doing nothing 0.0000, best player 1.0000; margin 0.1" in shown
    assert f"1 questions: 1 passed, 0 failed, 0 exempt, 0 not asked\nCertificate  {file}" in shown
    first = file.read_bytes()
    (row,) = json.loads(first)["answers"]
    assert main([*row["again"].split()[1:], "--certificate", str(file)]) == 0
    assert file.read_bytes() == first


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--certificate", "x.json"], "a certificate is for one environment, got 0 ENV"),
        (["Bandit-v0", "Sokoban-v0", "--question", "x"], "for one environment, got 2 ENV"),
        (["Bandit-v0", "--question", "semantic.flor_gap"], "unknown question 'semantic.flor_gap'"),
        (["Bandit-v0", "--certificate", "no/x.json"], "the directory no does not exist"),
        (
            ["Bandit-v0", "--certificate", "x.json", "--episodes", "0"],
            "--episodes must be at",
        ),
        (["Bandit-v0", "--certificate", "x.json", "--sealed"], "--sealed and --out do not go with"),
        (["Chess-v0", "--certificate", "x.json"], "unknown environment 'Chess-v0'"),
        (["no/Chess-v0", "--certificate", "x.json"], "environment 'no/Chess-v0' cannot be found"),
        (["TwentyQuestionsModel-v0", "--question", "hub.layer_isolation"], "is played against"),
    ],
)
def test_mistakes_get_one_line(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *words]) == 2
    said = capsys.readouterr().err
    assert (said.count("\n"), says in said) == (1, True), said
