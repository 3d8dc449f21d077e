"""What reads files and writes texts of others: one module each, and a rule for all others.

The rules read the syntax trees of the packages. A new exception needs a reason here.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    file
    for folder in ("ragen_envs", "ragen_bench", "trainers/ragen_starpo")
    for file in (ROOT / folder).rglob("*.py")
)
TERMINAL = {
    "ragen_envs/core/visible.py": "the writers",
    "ragen_bench/visible.py": "the same writers, where importing the environments takes too long",
    "ragen_envs/integrations/harbor/game.py": "a script that is copied out of this package",
    "ragen_bench/models/template_process.py": "answers its parent in JSON, over a pipe",
}
CONSOLES = {"ragen_bench/terminal/console.py": "the console whose every segment is made visible"}
HTML = {
    "ragen_bench/escaping.py": "the function for texts outside templates",
    "ragen_bench/pages/rendering.py": "our own scripts and styles, which templates include as is",
    "ragen_bench/models/api/secrets.py": "finds forms of a key, and writes none",
}
READERS = {
    "ragen_bench/reading.py": "the reader",
    "ragen_bench/scores/outcomes.py": "a file of the package",
    "ragen_bench/models/agents/limits.py": "the limits, as the system describes them",
    "ragen_bench/user_code.py": "the user's own code",
    "ragen_bench/models/random_player.py": "the user's own code",
    "ragen_bench/models/gguf/model.py": "hashes weights of any size in pieces",
    "ragen_bench/runs/provenance.py": "the processor, as the system describes it",
    "ragen_bench/pages/local_server.py": "pages of the package, and of a site built here",
    "ragen_bench/cache.py": "written here",
    "trainers/ragen_starpo/engine/device_memory.py": "the memory, as the system describes it",
}
MARKUP = ("](", "**", "| ", " |", "`")


def relative(file):
    return file.relative_to(ROOT).as_posix()


@cache
def nodes(file):
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def calls(file):
    return [node for node in nodes(file) if isinstance(node, ast.Call)]


def name_of(node):
    """Return the dotted name of a function, as far as it is written."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(file):
    """Yield the full names that a file imports."""
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def found(check, exceptions):
    """Return the files that a check complains of, without the exceptions, which must be needed."""
    by_file = {relative(file): list(check(file)) for file in FILES}
    assert not [file for file in exceptions if file in by_file and not by_file[file]]
    return {file: lines for file, lines in by_file.items() if lines and file not in exceptions}


def writes_to_terminal(file):
    for call in calls(file):
        if name_of(call.func) in {
            *("print", "sys.stdout.write", "sys.stderr.write", "sys.__stdout__.write"),
            *("sys.stdout.writelines", "sys.stderr.writelines", "sys.stdout.buffer.write"),
        }:
            yield call.lineno


def makes_console(file):
    """Consoles of rich, which print markup and control characters as they are."""
    if "rich.console.Console" in imported(file):
        yield from (call.lineno for call in calls(file) if name_of(call.func) == "Console")
        for node in nodes(file):
            if isinstance(node, ast.ClassDef) and "Console" in map(name_of, node.bases):
                yield node.lineno
    yield from (name for name in imported(file) if name in ("rich.print", "rich.get_console"))


def escapes_html(file):
    return [n for n in imported(file) if n in ("html", "html.escape") or "markupsafe" in n]


def writes_markdown(file):
    """Markup beside a value in an f-string, in modules that write Markdown pages."""
    names = set(imported(file))
    if not any(name.startswith("ragen_bench.markdown.") for name in names):
        return
    for node in nodes(file):
        if isinstance(node, ast.JoinedStr):
            for before, after in zip(node.values, node.values[1:], strict=False):
                text, ends = (before, True) if isinstance(before, ast.Constant) else (after, False)
                if isinstance(text, ast.Constant):
                    near = text.value.endswith(MARKUP) if ends else text.value.startswith(MARKUP)
                    if near:
                        yield node.lineno


def logs_a_text(file):
    """Arguments of log messages that are built of texts, and not made visible."""
    for call in calls(file):
        function = call.func
        levels = ("warning", "error", "info", "debug", "exception", "critical")
        if isinstance(function, ast.Attribute) and function.attr in levels:
            owner = ast.unparse(function.value)
            if "LOG" in owner or "getLogger" in owner or "logger" in owner:
                for value in call.args:
                    raw = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
                    if any(name_of(n.func) in ("described", "str") for n in raw) and not any(
                        name_of(n.func) == "visible" for n in raw
                    ):
                        yield call.lineno


def reads_files(file):
    if relative(file).startswith("ragen_envs/"):  # reads files of its own, and the host's key
        return
    for call in calls(file):
        name, last = name_of(call.func), getattr(call.func, "attr", "")
        if name in ("open", "json.load", "tomllib.load", "tomllib.loads", "np.fromfile"):
            if (name, file.name) != ("tomllib.loads", "files.py"):  # the value of a setting
                yield call.lineno
        elif last in ("read_text", "read_bytes") or (last == "open" and _has_mode(call)):
            yield call.lineno


def _has_mode(call):
    """Return whether a call of Path.open states that it reads."""
    return bool({ast.unparse(each) for each in call.args} & {"'rb'", "'r'"})


RULES = {
    "write_out and write_error write to a terminal": (writes_to_terminal, TERMINAL),
    "plain_console prints": (makes_console, CONSOLES),
    "escape_html writes HTML": (escapes_html, HTML),
    "escape_markdown, bold, link, code and make_table write Markdown": (writes_markdown, {}),
    "visible is around a text that is logged": (logs_a_text, {}),
    "ragen_bench.reading reads files": (reads_files, READERS),
}


@pytest.mark.parametrize(("check", "exceptions"), RULES.values(), ids=RULES)
def test_only_one_place_does_it(check, exceptions):
    assert found(check, exceptions) == {}


def test_the_rules_find_what_they_forbid(tmp_path, monkeypatch):
    file = tmp_path / "ragen_bench" / "bad.py"
    file.parent.mkdir()
    file.write_text(
        "import html, sys\nfrom rich.console import Console\n"
        "from ragen_bench.markdown import bold\n"
        "sys.stdout.write(name)\nConsole().print(name)\nx = f'| {name} |'\n"
        "LOG.warning('%s', str(error))\npath.read_text()\npath.open('rb')\n"
    )
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    for check, _ in RULES.values():
        assert list(check(file)), check
