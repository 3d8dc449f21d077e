"""Commands in a folder of their own, run in the tests' process, which has imported torch."""

import contextlib

from ragen_bench.cli import main as bench
from ragen_starpo.cli import main as train
from ragen_starpo.commands import Commands

PROGRAMS = {"ragen-train": train, "ragen-bench": bench}


class CommandsHere(Commands):
    """Runs all commands in this process, but for those of the given names."""

    def __init__(self, *elsewhere):
        super().__init__()
        self._elsewhere = elsewhere

    def _code(self, folder, stage, log):
        if stage.name in self._elsewhere:
            return super()._code(folder, stage, log)
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(log),
            contextlib.redirect_stderr(log),
        ):
            return PROGRAMS[stage.program](list(stage.arguments))
