"""A stranger's run does not repaint the terminal of who looks at it."""

import inspect
import io
import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.table import Table

import ragen_bench.visible as here
import ragen_envs.core.visible as environments
from ragen_bench.cli import main
from ragen_bench.terminal.console import PlainConsole
from ragen_bench.visible import visible
from tests.growth import LINEAR, growth
from tests.ragen_bench.cli.command import run
from tests.ragen_bench.models.api import hosted

pytestmark = pytest.mark.slow

HOSTILE = "\x1b[2J\u202emodel\x9b31m"


def test_what_cannot_be_printed_is_shown_as_an_escape():
    assert visible("a\x1bb\u202ec\x00\r") == "a\\x1bb\\u202ec\\x00\\r"
    assert visible("one\ntwo √ é 日本") == "one\ntwo √ é 日本"
    assert visible("a\tb\u3000c\xa0d") == "a\tb\u3000c\xa0d"
    assert visible("\u2028\u200b\ud800") == "\\u2028\\u200b\\ud800"


@given(st.text())
def test_what_is_shown_stays(text):
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("piece", ["a", "\x1b", "\u202e\n"])
def test_the_cost_grows_with_the_text(piece):
    assert growth(visible, lambda n: piece * n) < LINEAR


def printed(renderable):
    file = io.StringIO()
    console = PlainConsole(file=file)
    console.width = 60
    console.print(renderable)
    return file.getvalue()


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\x1b\x9b\u202e\x07\b[2J")))
def test_a_console_prints_nothing_that_a_terminal_obeys(text):
    table = Table(title=text, caption=text)
    table.add_column(text)
    table.add_row(text)
    for renderable in (text, table, Panel(text, title=text)):
        lines = printed(renderable).replace("\n", "").replace("\t", "")
        assert visible(lines) == lines


def test_colours_of_our_own_stay(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLORTERM", "truecolor")
    file = io.StringIO()
    PlainConsole(file=file, force_terminal=True).print("a\x1b[31mb", style="bold")
    assert file.getvalue() == "\x1b[1ma\\x1b[31mb\x1b[0m\n"


@pytest.mark.parametrize("command", ["evaluate", "doctor"])
def test_words_of_a_server_are_shown_as_escapes(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with hosted.running() as stub:
        stub.refuses = lambda body: (400, {"message": f"no {HOSTILE}"})
        stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": HOSTILE}]}
        options = ["--base-url", stub.url, "--env", "Bandit-v0", "--limit", "2"]
        assert main([command, f"openai/{hosted.NAME}", *options]) == 1
    said = "".join(capsys.readouterr())
    assert "\\x1b[2J\\u202emodel" in said
    assert not set("\x1b\u202e\x9b") & set(said)


def test_names_of_environments_are_shown_as_escapes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    played = ["evaluate", "random", "--env", "Bandit-v0", "--limit", "2", "--out", "run"]
    assert main(played) == 0
    for file in (tmp_path / "run").iterdir():
        if file.suffix in (".json", ".jsonl"):
            hostile = json.dumps(HOSTILE)[1:-1]
            file.write_text(file.read_text().replace("ragen/Bandit-v0", hostile))
    capsys.readouterr()
    for command in (["report", "run"], ["analyse", "run"], ["replay", "run"], [*played]):
        main(command)
    for name in (f"a/{HOSTILE}", f"{HOSTILE}:a"):
        main(["audit", name])
        main(["describe", name])
    said = "".join(capsys.readouterr())
    assert "\\x1b[2J" in said
    assert not set("\x1b\u202e\x9b") & set(said)


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


def test_both_packages_write_texts_alike():
    for name in ("visible", "write_out", "write_error", "_escape"):
        ours, theirs = (inspect.getsource(getattr(module, name)) for module in (here, environments))
        assert ours == theirs
