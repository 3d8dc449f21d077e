"""The command in a process of its own, as its user starts it."""

import os
import subprocess
import sys

COMMAND = [sys.executable, "-m", "ragen_bench"]


def run(*arguments, cwd, stdin="", **environment):
    """Run the command, without a sealed key of the tester's own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RAGEN_SEALED")}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        env={**clean, **environment},
    )
