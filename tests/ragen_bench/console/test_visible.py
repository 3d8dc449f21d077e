"""A stranger's run does not repaint the terminal of who looks at it."""

import json
import shutil

from ragen_bench.console.visible import visible
from tests.ragen_bench.cli.command import run

HOSTILE = "\x1b[2J\u202emodel\x9b31m"


def test_what_cannot_be_printed_is_shown_as_an_escape():
    assert visible("a\x1bb\u202ec\x00\r") == "a\\x1bb\\u202ec\\x00\\r"
    assert visible("one\ntwo √ é 日本") == "one\ntwo √ é 日本"


def test_names_in_a_run_are_shown_as_escapes(tmp_path):
    played = ["evaluate", "random", "--env", "Bandit-v0", "--limit", "2", "--out", "run"]
    assert run(*played, cwd=tmp_path).returncode == 0
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    file = tmp_path / "other" / "run.json"
    hostile = dict.fromkeys(("model", "suite", "prompt_hash"), HOSTILE)
    file.write_text(json.dumps({**json.loads(file.read_text()), **hostile}))
    for command in (["report", "other"], ["compare", "run", "other"], ["analyse", "other"]):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not set("\x1b\u202e\x9b") & set(done.stdout + done.stderr)
    assert "\\x1b[2J\\u202emodel" in run("report", "other", cwd=tmp_path).stdout
