"""A process of another virtual environment, which answers lines of JSON."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def environment():
    """Return the variables that a process of another environment gets."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


class Driver:
    """A script that runs in the environment of a Python."""

    def __init__(self, python, script):
        self._process = subprocess.Popen(
            [python, script],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def ask(self, **question):
        """Return the answer to a question."""
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
