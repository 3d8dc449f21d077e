"""The command as its user starts it: in a process of its own."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ragen_bench.cli.main import main

COMMAND = [sys.executable, "-m", "ragen_bench"]
_PATIENCE = 300
_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
# Imports are most of a short command's time. A server has made them, and forks for each command.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["ragen_bench.api", "openai", "tests.ragen_bench.cli.preloaded"])


def run(*arguments, cwd, stdin="", **environment):
    """Run the command, without a sealed key of the tester's own.

    Its modules, folder, variables and streams are its own. The seed of `hash` is that of all
    commands that are run so: what may not depend on it is compared with a `run_alone`. Python has
    read its own variables already.
    """
    assert not any(name.startswith("PYTHON") for name in environment), "run_alone takes these"
    with TemporaryDirectory() as folder:
        streams = {name: Path(folder, name) for name in _STREAMS}
        streams["stdin"].write_text(stdin, encoding="utf-8")
        process = _FORKS.Process(
            target=_typed, args=(arguments, cwd, _variables(environment), streams)
        )
        process.start()
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, _PATIENCE)
        out, err = (streams[name].read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def run_alone(*arguments, cwd, **environment):
    """Run the command in an interpreter of its own."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        env=_variables(environment),
    )


def _variables(further):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RAGEN_SEALED")}
    return {**clean, **further}


def _typed(arguments, cwd, variables, streams):
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(cwd)
    for number, (name, mode) in enumerate(_STREAMS.items()):
        with streams[name].open(mode) as file:
            os.dup2(file.fileno(), number)
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    sys.dont_write_bytecode = True  # examples are run from their folder
    sys.argv = ["ragen-bench", *arguments]
    sys.path.insert(0, str(cwd))
    sys.exit(main())
