"""Follows a page of the documentation as its reader would.

Blocks with a title are files to write, `console` blocks are commands to type and what they print,
with `...` for any text, and other `python` blocks are run. What a reader exports is the test's to
say, since servers and keys are not the reader's.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from .links import ROOT

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*(?:(?<=\\)\n.*)*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)


def follow(page, folder, **environment):
    """Do what the page says in an empty folder; a title that is an example's has its text."""
    done = 0
    for language, title, text in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        done += 1
        if title:
            example = ROOT / "examples" / title
            assert not example.exists() or example.read_text(encoding="utf-8") == text, title
            (folder / title).write_text(text, encoding="utf-8")
        elif language == "python":
            _typed([sys.executable, "-W", "error", "-c", text], folder, environment)
        elif language == "console":
            for command, shown in COMMAND.findall(text):
                if not command.startswith("export "):
                    printed = _typed(["bash", "-c", command], folder, environment)
                    pattern = re.escape(shown.strip()).replace(r"\.\.\.", r"(?s:.*)")
                    assert not shown or re.fullmatch(pattern, printed), (command, printed)
    assert done


def _typed(command, folder, environment):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("RAGEN_SEALED", "OPENAI"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean | {"PATH": path, "COLUMNS": "80"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (command, done.stdout + done.stderr)
    return "\n".join(map(str.rstrip, done.stdout.strip().split("\n")))
